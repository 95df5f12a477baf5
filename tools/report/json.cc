// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "tools/command.h"
#include "tools/report/sections.h"

namespace coll::tools::report {

ordered_json read_json(const std::string& option, const std::string& file) {
  std::ifstream in(file);
  if (!in) throw Failure(fmt::format("{} {}: the file cannot be read", option, file));
  std::stringstream text;
  text << in.rdbuf();
  ordered_json json = ordered_json::parse(text.str(), nullptr, false);
  if (json.is_discarded()) throw Failure(fmt::format("{} {}: the file is not JSON", option, file));
  return json;
}

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  // A unit below 1 divides exactly only as its reciprocal: 12345 is 12350, not 12350.000000000002.
  return unit >= 1 ? std::round(value * unit) / unit : std::round(value / std::round(1 / unit)) * std::round(1 / unit);
}

}  // namespace coll::tools::report
