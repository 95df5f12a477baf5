// SPDX-License-Identifier: BSD-3-Clause
// From what was timed to a table of lib/model, and how well the two agree.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "tools/calibrate/probes/probes.h"
#include "tools/calibrate/values.h"

namespace coll::tools {

// A measured time beside what the fit says, for collctl report.
struct Fitted {
  std::string curve;  // "cma", "gamma of cma", ...
  double x = 0, measured = 0, fitted = 0;
};

struct Model {
  model::Table table;
  std::vector<Precision> precisions;  // by the names of named_values()
  std::vector<Fitted> curves;
  // What the machine lacks or what could not be measured, and where its number comes from instead.
  std::vector<std::string> remarks;
};

// `otherwise` gives what could not be measured here. Pure.
Model fit_model(const Measured& measured, const model::Fingerprint& machine, const model::Table& otherwise);

}  // namespace coll::tools
