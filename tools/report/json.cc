// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "tools/command.h"
#include "tools/common/json.h"
#include "tools/report/sections.h"

namespace coll::tools::report {

ordered_json read_json(const std::string& option, const std::string& file) {
  std::ifstream in(file);
  if (!in) throw Failure(fmt::format("{} {}: the file cannot be read", option, file));
  ordered_json json = parse_json(in);
  if (json.is_discarded())
    throw Failure(fmt::format("{} {}: the file is not JSON, or nested too deeply", option, file));
  return json;
}

uint64_t whole(double value) { return uint64_t(std::clamp(value, 0.0, 0x1p63)); }
int whole_int(double value) { return int(std::clamp(value, -0x1p30, 0x1p30)); }

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  if (!std::isfinite(unit)) return 0;  // the value is below 1e-305
  // Divide by the reciprocal of a unit below 1, which is exact: 12345 becomes 12350, not 12350.000000000002.
  return unit >= 1 ? std::round(value * unit) / unit : std::round(value / std::round(1 / unit)) * std::round(1 / unit);
}

}  // namespace coll::tools::report
