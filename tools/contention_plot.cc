// SPDX-License-Identifier: BSD-3-Clause
// The figures of collctl bench contention: columns are patterns, rows sizes, lines transports.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "contention.h"
#include "plot.h"
#include "text.h"

namespace coll::tools {
namespace {

constexpr double width = 200, height = 130, left = 46, gap = 34, top = 64, below = 44;
constexpr std::array<const char*, way_names.size()> colours = {"#c0392b", "#2471a3", "#1e8449", "#7d6608"};

// 1, 2, 5, 10, 20 ...: at most five of them below `highest`.
double step_of(double highest) {
  double step = 0.5;
  for (int turn = 0; highest / step > 5; ++turn) step *= turn % 3 == 2 ? 2.5 : 2;
  return step;
}

std::string frame(const plot::Panel& panel, int ranks) {
  std::string out;
  for (double at = 0, step = step_of(panel.up.high); at <= panel.up.high + 1e-9; at += step)
    out += plot::mark_up(panel, at, fmt::format("{:g}", at));
  const int stride = std::max(1, (ranks + 7) / 8);
  for (int concurrent = 1; concurrent <= ranks; concurrent += stride)
    out += plot::mark_across(panel, concurrent, std::to_string(concurrent));
  return out;
}

std::string line(const plot::Panel& panel, size_t way, const std::vector<const ContentionCell*>& cells) {
  plot::Points points;
  std::string dots;
  for (const ContentionCell* cell : cells) {
    points.emplace_back(cell->concurrent, cell->relative);
    dots += plot::dot(panel, cell->concurrent, cell->relative, colours[way],
                      fmt::format("{}, {} at once: {} (x {:.2f})", way_names[way], cell->concurrent,
                                  us_text(cell->median_us), cell->relative));
  }
  return plot::line(panel, points, colours[way]) + dots;
}

std::string legend(const ContentionTask& task, const ContentionResult& result) {
  std::string out;
  double x = left;
  for (size_t i = 0; i < task.ways.size(); ++i) {
    const size_t way = size_t(task.ways[i]);
    const bool works = result.problems[i].empty();
    out += fmt::format("<rect x=\"{:.0f}\" y=\"27\" width=\"14\" height=\"4\" fill=\"{}\"/>\n", x,
                       works ? colours[way] : "#bbb");
    out += plot::words(x + 18, 33, "start", fmt::format("{}{}", way_names[way], works ? "" : " (does not work here)"));
    x += works ? 100 : 220;
  }
  return out;
}

}  // namespace

std::string contention_svg(const ContentionTask& task, const ContentionResult& result) {
  const double columns = double(task.patterns.size()), rows = double(task.pages.size());
  const double whole_width = std::max(left + columns * (width + gap), 720.0);
  const double whole_height = top + rows * (height + below);
  std::string out =
      plot::words(left, 16, "start", "time of an access, relative to the same access alone, over accesses at once");
  out += legend(task, result);
  for (size_t row = 0; row < task.pages.size(); ++row)
    for (size_t column = 0; column < task.patterns.size(); ++column) {
      std::vector<std::vector<const ContentionCell*>> lines(way_names.size());
      plot::Panel panel{left + double(column) * (width + gap),
                        top + double(row) * (height + below),
                        width,
                        height,
                        {1, double(task.ranks)},
                        {0, 2}};
      for (const ContentionCell& cell : result.cells)
        if (cell.pattern == task.patterns[column] && cell.pages == task.pages[row]) {
          lines[size_t(cell.way)].push_back(&cell);
          panel.up.high = std::max(panel.up.high, std::ceil(cell.relative));
        }
      out += plot::words(panel.x + width / 2, panel.y - 6, "middle",
                         fmt::format("{}, {}", pattern_names[size_t(task.patterns[column])],
                                     bytes_text(uint64_t(task.pages[row]) * 4096)));
      out += frame(panel, task.ranks);
      for (size_t way = 0; way < lines.size(); ++way)
        if (!lines[way].empty()) out += line(panel, way, lines[way]);
    }
  return plot::document(whole_width, whole_height, out);
}

}  // namespace coll::tools
