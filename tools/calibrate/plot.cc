// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/plot.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "tools/common/plot.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

constexpr double width = 220, height = 150, left = 60, gap = 70, top = 60, below = 56;
constexpr int columns = 3;
constexpr const char *measured_colour = "#c0392b", *fitted_colour = "#2471a3";

bool is_gamma(const std::string& curve) { return curve.starts_with("gamma"); }

// Powers of ten, and of two for bytes, that lie within.
std::string numbers(const plot::Panel& panel, bool gamma) {
  std::string out;
  if (gamma) {
    for (double at = 0; at <= panel.up.high; at += std::max(1.0, std::ceil(panel.up.high / 5)))
      out += plot::mark_up(panel, at, fmt::format("{:g}", at));
    for (double at = 1; at <= panel.across.high; at += std::max(1.0, std::ceil(panel.across.high / 8)))
      out += plot::mark_across(panel, at, fmt::format("{:g}", at));
    return out;
  }
  for (double at = 1e-3; at <= panel.up.high; at *= 10)
    if (at >= panel.up.low) out += plot::mark_up(panel, at, us_text(at));
  const double wide = std::log2(panel.across.high / panel.across.low);
  for (double at = 1; at <= panel.across.high; at *= wide > 8 ? 16 : 4)
    if (at >= panel.across.low) out += plot::mark_across(panel, at, bytes_text(uint64_t(at)));
  return out;
}

plot::Panel panel_of(const std::vector<Fitted>& points, bool gamma, size_t index) {
  plot::Panel panel{left + double(index % columns) * (width + gap),
                    top + double(index / columns) * (height + below),
                    width,
                    height,
                    {},
                    {}};
  panel.across = {1e300, 0, !gamma};
  panel.up = {1e300, 0, !gamma};
  for (const Fitted& point : points) {
    panel.across.low = std::min(panel.across.low, point.x);
    panel.across.high = std::max(panel.across.high, point.x);
    panel.up.low = std::min({panel.up.low, point.measured, point.fitted});
    panel.up.high = std::max({panel.up.high, point.measured, point.fitted});
  }
  if (gamma) panel.across.low = 1, panel.up.low = 0, panel.up.high = std::ceil(panel.up.high + 0.1);
  else panel.up.low = std::pow(10, std::floor(std::log10(std::max(panel.up.low, 1e-3)))), panel.up.high *= 1.2;
  return panel;
}

}  // namespace

std::string calibration_svg(const Model& model) {
  std::map<std::string, std::vector<Fitted>> curves;
  for (const Fitted& point : model.curves) curves[point.curve].push_back(point);
  std::string out = plot::words(
      left, 18, "start", "dots: measured; lines: fitted. Times by bytes; gamma by number of concurrent accesses");
  size_t index = 0;
  for (auto& [curve, points] : curves) {
    std::ranges::sort(points, {}, &Fitted::x);
    const bool gamma = is_gamma(curve);
    const plot::Panel panel = panel_of(points, gamma, index++);
    out += plot::words(panel.x + width / 2, panel.y - 8, "middle", curve) + numbers(panel, gamma);
    plot::Points line;
    for (const Fitted& point : points) {
      line.emplace_back(point.x, point.fitted);
      out += plot::dot(panel, point.x, point.measured, measured_colour,
                       fmt::format("{:.4g}: measured {:.4g}, fitted {:.4g}", point.x, point.measured, point.fitted));
    }
    out += plot::line(panel, line, fitted_colour);
  }
  const double rows = std::ceil(double(std::max<size_t>(index, 1)) / columns);
  return plot::document(left + columns * (width + gap), top + rows * (height + below), out);
}

}  // namespace coll::tools
