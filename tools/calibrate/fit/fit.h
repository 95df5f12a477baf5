// SPDX-License-Identifier: BSD-3-Clause
// Fits a table of lib/model to the measurements, and states how well the two agree.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "tools/calibrate/probes/probes.h"
#include "tools/calibrate/values.h"

namespace coll::tools {

// A measured time and the fitted one, for collctl report.
struct Fitted {
  std::string curve;  // "cma", "gamma of cma", ...
  double x = 0, measured = 0, fitted = 0;
};

struct Model {
  model::Table table;
  std::vector<Precision> precisions;  // named as in named_values()
  std::vector<Fitted> curves;
  // Values that are missing or could not be measured, and the value that replaces each.
  std::vector<std::string> remarks;
};

// Values that could not be measured are those of `otherwise`. Pure function.
Model fit_model(const Measured& measured, const model::Fingerprint& machine, const model::Table& otherwise);

}  // namespace coll::tools
