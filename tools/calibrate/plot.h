// SPDX-License-Identifier: BSD-3-Clause
// Measured points against what was fitted to them, as SVG.
#pragma once

#include <string>

#include "tools/calibrate/fit/fit.h"

namespace coll::tools {

// A panel for each curve: points as measured, a line through what the fit says.
std::string calibration_svg(const Model& model);

}  // namespace coll::tools
