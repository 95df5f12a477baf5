// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace coll::tools::plot {

double Axis::share(double value) const {
  if (high <= low) return 0.5;
  const double at =
      logarithmic ? std::log(std::max(value, low) / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(at, 0.0, 1.0);
}

std::string document(double width, double height, const std::string& pieces) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n",
      width, height, pieces);
}

std::string words(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

std::string mark_up(const Panel& panel, double value, const std::string& text) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", panel.x,
                     panel.at_y(value), panel.x + panel.width, panel.at_y(value)) +
         words(panel.x - 5, panel.at_y(value) + 4, "end", text);
}

std::string mark_across(const Panel& panel, double value, const std::string& text) {
  return words(panel.at_x(value), panel.y + panel.height + 14, "middle", text);
}

std::string line(const Panel& panel, const Points& points, const char* colour) {
  std::string at;
  for (const auto& [across, up] : points) at += fmt::format("{:.1f},{:.1f} ", panel.at_x(across), panel.at_y(up));
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", at, colour);
}

std::string dot(const Panel& panel, double across, double up, const char* colour, const std::string& title) {
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"><title>{}</title></circle>\n",
                     panel.at_x(across), panel.at_y(up), colour, title);
}

}  // namespace coll::tools::plot
