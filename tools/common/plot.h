// SPDX-License-Identifier: BSD-3-Clause
// Panels of a figure: axes, their numbers, points and lines, as pieces of SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace coll::tools::plot {

// Values from `low` to `high` along a side of a panel.
struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;  // then low > 0
  // 0 at low, 1 at high; beyond them it stays there.
  double share(double value) const;
};

struct Panel {
  double x = 0, y = 0, width = 200, height = 130;  // its upper left corner and size
  Axis across, up;
  double at_x(double value) const { return x + across.share(value) * width; }
  double at_y(double value) const { return y + (1 - up.share(value)) * height; }
};

// The figure around its pieces.
std::string document(double width, double height, const std::string& pieces);
std::string words(double x, double y, const char* anchor, const std::string& text);
// A line across the panel with its number at the left; a number below it.
std::string mark_up(const Panel& panel, double value, const std::string& text);
std::string mark_across(const Panel& panel, double value, const std::string& text);
using Points = std::vector<std::pair<double, double>>;
std::string line(const Panel& panel, const Points& points, const char* colour);
// With what is shown under the pointer.
std::string dot(const Panel& panel, double across, double up, const char* colour, const std::string& title);

}  // namespace coll::tools::plot
