// SPDX-License-Identifier: BSD-3-Clause
// The figures of collctl bench contention: columns are patterns, rows sizes, lines transports.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "contention.h"
#include "text.h"

namespace coll::tools {
namespace {

constexpr double width = 200, height = 130, left = 46, gap = 34, top = 64, below = 44;
constexpr std::array<const char*, way_names.size()> colours = {"#c0392b", "#2471a3", "#1e8449", "#7d6608"};

struct Panel {
  double x, y;     // of its upper left corner
  int ranks;       // at the right end
  double highest;  // at the upper end; the lower one is 0

  double at_x(int concurrent) const { return x + (ranks == 1 ? 0.5 : double(concurrent - 1) / (ranks - 1)) * width; }
  double at_y(double relative) const { return y + height * (1 - std::min(relative, highest) / highest); }
};

// 1, 2, 5, 10, 20 ...: at most five of them below `highest`.
double step_of(double highest) {
  double step = 0.5;
  for (int turn = 0; highest / step > 5; ++turn) step *= turn % 3 == 2 ? 2.5 : 2;
  return step;
}

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

std::string frame(const Panel& panel) {
  std::string out;
  for (double at = 0, step = step_of(panel.highest); at <= panel.highest + 1e-9; at += step) {
    out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", panel.x,
                       panel.at_y(at), panel.x + width, panel.at_y(at));
    out += text(panel.x - 5, panel.at_y(at) + 4, "end", fmt::format("{:g}", at));
  }
  const int stride = std::max(1, (panel.ranks + 7) / 8);
  for (int concurrent = 1; concurrent <= panel.ranks; concurrent += stride)
    out += text(panel.at_x(concurrent), panel.y + height + 14, "middle", std::to_string(concurrent));
  return out;
}

std::string line(const Panel& panel, size_t way, const std::vector<const ContentionCell*>& cells) {
  std::string points, dots;
  for (const ContentionCell* cell : cells) {
    const double x = panel.at_x(cell->concurrent), y = panel.at_y(cell->relative);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"><title>{}, {} at once: {} (x "
        "{:.2f})</title></circle>\n",
        x, y, colours[way], way_names[way], cell->concurrent, us_text(cell->median_us), cell->relative);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n{}", points,
                     colours[way], dots);
}

std::string legend(const ContentionTask& task, const ContentionResult& result) {
  std::string out;
  double x = left;
  for (size_t i = 0; i < task.ways.size(); ++i) {
    const size_t way = size_t(task.ways[i]);
    const bool works = result.problems[i].empty();
    out += fmt::format("<rect x=\"{:.0f}\" y=\"27\" width=\"14\" height=\"4\" fill=\"{}\"/>\n", x,
                       works ? colours[way] : "#bbb");
    out += text(x + 18, 33, "start", fmt::format("{}{}", way_names[way], works ? "" : " (does not work here)"));
    x += works ? 100 : 220;
  }
  return out;
}

}  // namespace

std::string contention_svg(const ContentionTask& task, const ContentionResult& result) {
  const double columns = double(task.patterns.size()), rows = double(task.pages.size());
  const double whole_width = std::max(left + columns * (width + gap), 720.0);
  const double whole_height = top + rows * (height + below);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      whole_width, whole_height);
  out += text(left, 16, "start", "time of an access, relative to the same access alone, over accesses at once");
  out += legend(task, result);
  for (size_t row = 0; row < task.pages.size(); ++row)
    for (size_t column = 0; column < task.patterns.size(); ++column) {
      std::vector<std::vector<const ContentionCell*>> lines(way_names.size());
      Panel panel{left + double(column) * (width + gap), top + double(row) * (height + below), task.ranks, 2};
      for (const ContentionCell& cell : result.cells)
        if (cell.pattern == task.patterns[column] && cell.pages == task.pages[row]) {
          lines[size_t(cell.way)].push_back(&cell);
          panel.highest = std::max(panel.highest, std::ceil(cell.relative));
        }
      out += text(panel.x + width / 2, panel.y - 6, "middle",
                  fmt::format("{}, {}", pattern_names[size_t(task.patterns[column])],
                              bytes_text(uint64_t(task.pages[row]) * 4096)));
      out += frame(panel);
      for (size_t way = 0; way < lines.size(); ++way)
        if (!lines[way].empty()) out += line(panel, way, lines[way]);
    }
  return out + "</svg>\n";
}

}  // namespace coll::tools
