// SPDX-License-Identifier: BSD-3-Clause
// The figures of collctl bench contention: columns are patterns, rows sizes, lines transports. Below the times of a size
// stand its waits for locks, where they were counted.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/bench/contention/contention.h"
#include "tools/common/plot.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

constexpr double width = 200, height = 130, left = 46, gap = 34, top = 64, below = 44;
constexpr std::array<const char*, way_names.size()> colours = {"#c0392b", "#2471a3", "#1e8449",
                                                               "#7d6608", "#8e44ad", "#e67e22"};

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

// What a row of panels shows.
struct Figure {
  const char* what;
  double least;  // that its axis reaches at least
  double (*value)(const ContentionCell& cell);
};
constexpr Figure times = {"time", 2, [](const ContentionCell& cell) { return cell.relative; }};
constexpr Figure waits = {"lock waits", 1, [](const ContentionCell& cell) { return cell.lock_waits; }};

std::string words_of(const ContentionCell& cell) {
  std::string text = fmt::format("{}, {} at once: {} (x {:.2f})", way_names[size_t(cell.way)], cell.concurrent,
                                 us_text(cell.median_us), cell.relative);
  if (cell.locks >= 0)
    text += fmt::format("; per access: mmap_lock {:.2f}, lock waits {:.2f}, pages pinned {:.1f}", cell.locks,
                        cell.lock_waits, cell.pinned);
  if (cell.gate_waits >= 0) text += fmt::format(", gate waits {:.2f}", cell.gate_waits);
  return text;
}

std::string line(const plot::Panel& panel, const Figure& figure, const std::vector<const ContentionCell*>& cells) {
  plot::Points points;
  std::string dots;
  const char* const colour = colours[size_t(cells[0]->way)];
  for (const ContentionCell* cell : cells) {
    points.emplace_back(cell->concurrent, figure.value(*cell));
    dots += plot::dot(panel, cell->concurrent, figure.value(*cell), colour, words_of(*cell));
  }
  return plot::line(panel, points, colour) + dots;
}

std::string legend(const ContentionTask& task, const ContentionResult& result, double& x) {
  std::string out;
  x = left;
  for (size_t i = 0; i < task.ways.size(); ++i) {
    const size_t way = size_t(task.ways[i]);
    const bool works = result.problems[i].empty();
    const std::string text = fmt::format("{}{}", way_names[way], works ? "" : " (does not work here)");
    out += fmt::format("<rect x=\"{:.0f}\" y=\"27\" width=\"14\" height=\"4\" fill=\"{}\"/>\n", x,
                       works ? colours[way] : "#bbb");
    out += plot::words(x + 18, 33, "start", text);
    x += 36 + 6.5 * double(text.size());
  }
  return out;
}

// One pattern and size.
std::string panel_of(plot::Panel panel, const ContentionTask& task, const ContentionResult& result, Pattern pattern,
                     int pages, const Figure& figure) {
  std::vector<std::vector<const ContentionCell*>> lines(way_names.size());
  panel.across = {1, double(task.ranks)};
  panel.up = {0, figure.least};
  for (const ContentionCell& cell : result.cells)
    if (cell.pattern == pattern && cell.pages == pages) {
      lines[size_t(cell.way)].push_back(&cell);
      panel.up.high = std::max(panel.up.high, std::ceil(figure.value(cell)));
    }
  std::string out = plot::words(
      panel.x + width / 2, panel.y - 6, "middle",
      fmt::format("{}, {}: {}", pattern_names[size_t(pattern)], bytes_text(uint64_t(pages) * 4096), figure.what));
  out += frame(panel, task.ranks);
  for (const auto& cells : lines)
    if (!cells.empty()) out += line(panel, figure, cells);
  return out;
}

}  // namespace

std::string contention_svg(const ContentionTask& task, const ContentionResult& result) {
  std::vector<Figure> figures = {times};
  if (result.counts_problem.empty()) figures.push_back(waits);
  double legend_end = 0;
  std::string out = plot::words(left, 16, "start",
                                "time of an access relative to the same access alone, and its lock waits, by number of "
                                "concurrent accesses") +
                    legend(task, result, legend_end);
  const double columns = double(task.patterns.size()), rows = double(task.pages.size() * figures.size());
  double y = top;
  for (int pages : task.pages)
    for (const Figure& figure : figures) {
      for (size_t column = 0; column < task.patterns.size(); ++column)
        out += panel_of({left + double(column) * (width + gap), y, width, height, {}, {}}, task, result,
                        task.patterns[column], pages, figure);
      y += height + below;
    }
  return plot::document(std::max({left + columns * (width + gap), legend_end, 720.0}), top + rows * (height + below),
                        out);
}

}  // namespace coll::tools
