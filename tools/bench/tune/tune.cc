// SPDX-License-Identifier: BSD-3-Clause
// collctl bench tune: for each collective and size, runs auto-tuned calls, then a sweep of settings, and compares both.
#include "tools/bench/tune/tune.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/lockstep/lockstep.h"
#include "coll/coll.h"
#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/choose_plans.h"
#include "tools/common/launch.h"
#include "tools/common/progress.h"
#include "tools/common/shared_memory.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;
using plan::Collective;

struct TuneOptions {
  std::string collective = "all", sizes = "4-1M", table;
  int ranks = 2, calls = 300, rounds = 12;
  bool json = false;
};

// Statistics of the ratios of many cells.
struct Summary {
  size_t cells = 0, within_5 = 0, within_10 = 0;
  double logs = 0, worst = 0;

  void add(double ratio) {
    ++cells;
    within_5 += ratio <= 1.05;
    within_10 += ratio <= 1.10;
    logs += std::log(ratio);
    worst = std::max(worst, ratio);
  }
  double mean() const { return std::exp(logs / double(cells)); }
  double share_5() const { return double(within_5) / double(cells); }
  double share_10() const { return double(within_10) / double(cells); }
  std::string text() const {
    return fmt::format("geometric mean {:.3f}, within 5 % in {:.0f} %, within 10 % in {:.0f} %, worst {:.2f}", mean(),
                       100 * share_5(), 100 * share_10(), worst);
  }
  ordered_json json() const {
    return {{"geometric_mean", mean()},
            {"share_within_5_percent", share_5()},
            {"share_within_10_percent", share_10()},
            {"worst", worst}};
  }
};

// The times of finished cells relative to that of the best setting.
struct Summaries {
  Summary tuned, untuned, again;
  Summaries(const TuneBoard& board, size_t finished) {
    for (const TuneCell& cell : std::span(board.cells, finished)) {
      tuned.add(cell.ratio());
      untuned.add(cell.untuned_us / cell.best_us);
      again.add(cell.again_us / cell.best_us);
    }
  }
};

std::vector<TuneCell> cells_of(const TuneOptions& options) {
  std::vector<TuneCell> cells;
  for (const Collective collective : parse_collectives(options.collective)) {
    if (collective == Collective::barrier) continue;
    for (const size_t bytes : parse_sizes(options.sizes, "--sizes"))
      if (bytes >= sizeof(float)) cells.push_back({.collective = collective, .bytes = bytes / 4 * 4});
  }
  if (cells.empty())
    throw usage("--sizes: a barrier has no size; name a collective that moves data, and sizes from 4 on");
  if (cells.size() > TuneBoard::most_cells)
    throw usage(
        fmt::format("--sizes: {} measurements are too many; use at most {}", cells.size(), TuneBoard::most_cells));
  return cells;
}

void print_row(const TuneCell& cell) {
  fmt::print("{:<14} {:>9} {:>10} {:>10} {:>10} {:>7.3f} {:>6.0f}%  {}  {}\n", plan::name(cell.collective),
             bytes_text(cell.bytes), us_text(cell.tuned_us), us_text(cell.untuned_us), us_text(cell.best_us),
             cell.ratio(), 100 * cell.spread, cell.tuned[0] != 0 ? cell.tuned : "default", cell.best);
}

ordered_json json_of(const TuneOptions& options, const TuneBoard& board, size_t finished) {
  ordered_json rows = ordered_json::array();
  for (const TuneCell& cell : std::span(board.cells, finished))
    rows.push_back({{"collective", plan::name(cell.collective)},
                    {"bytes", cell.bytes},
                    {"settings", cell.swept},
                    {"tuned_us", cell.tuned_us},
                    {"untuned_us", cell.untuned_us},
                    {"best_us", cell.best_us},
                    {"again_us", cell.again_us},
                    {"spread", cell.spread},
                    {"tuned", cell.tuned},
                    {"best", cell.best},
                    {"ratio", cell.ratio()}});
  const Summaries all(board, finished);
  return {{"library", fmt::format("libcoll {}", coll_version())},
          {"ranks", options.ranks},
          {"calls", options.calls},
          {"table", options.table.empty() ? ordered_json() : ordered_json(options.table)},
          {"tuned", all.tuned.json()},
          {"untuned", all.untuned.json()},
          {"again", all.again.json()},
          {"rows", rows}};
}

int tune_command(const TuneOptions& options) {
  const std::vector<TuneCell> cells = cells_of(options);
  static constexpr const char* no_memory = "cannot allocate shared memory for the ranks; free memory";
  const SharedMemory board_memory(sizeof(TuneBoard), no_memory), lockstep(lockstep_segment_bytes(), no_memory);
  auto& board = *new (board_memory.data()) TuneBoard{};
  std::ranges::copy(cells, board.cells);
  TuneTask task{.ranks = options.ranks, .calls = options.calls, .rounds = options.rounds, .table = options.table};
  task.spin = allowed_cpus().size() >= size_t(options.ranks);
  Progress progress(cells.size());
  lockstep_ns_per_tick();  // measures the clock once, before the fork
  uint32_t shown = 0;
  const auto show = [&] {
    for (const uint32_t finished = board.finished.load(std::memory_order_acquire); shown < finished; ++shown) {
      if (options.json) continue;
      progress.clear();
      if (shown == 0)
        fmt::print("{:<14} {:>9} {:>10} {:>10} {:>10} {:>7} {:>7}  {}\n", "collective", "size", "tuned", "untuned",
                   "best", "ratio", "spread", "tuned setting, best setting");
      print_row(board.cells[shown]);
      std::fflush(stdout);
    }
    if (shown < cells.size())
      progress.show(shown, fmt::format("{} {}", plan::name(cells[shown].collective), bytes_text(cells[shown].bytes)));
  };
  const std::string problem = run_ranks(
      options.ranks, {}, 0, [&](int rank) { return run_tune_rank(task, board, cells.size(), lockstep.data(), rank); },
      show);
  progress.clear();
  if (!problem.empty()) throw Failure(board.problem.text[0] != 0 ? board.problem.text : problem);
  if (options.json) return fmt::print("{}\n", json_of(options, board, shown).dump(2)), exit_fine;
  const Summaries all(board, shown);
  fmt::print("\n{}\n{}\n{}\n",
             wrapped(fmt::format("The setting found after {} auto-tuned calls, time over that of the best setting: {}.",
                                 options.calls, all.tuned.text()),
                     0),
             wrapped(fmt::format("Without auto-tuning: {}.", all.untuned.text()), 0),
             wrapped(fmt::format("The best setting in another communicator: {}.", all.again.text()), 0));
  return exit_fine;
}

}  // namespace

void add_tune(Command& app, Action& action) {
  auto options = std::make_shared<TuneOptions>();
  Command* sub = app.get_subcommand("bench")->add_alternative(
      "tune", "Compare what auto-tuning has found with the best of all settings");
  sub->add_option("--collective", options->collective, "one collective; default: all except barrier")
      ->option_text("NAME");
  sub->add_option("-n,--ranks", options->ranks, "number of ranks, 2 to 64; default: 2")
      ->range(2, int(LOCKSTEP_MAX_RANKS))
      ->option_text("N");
  sub->add_option("--sizes", options->sizes,
                  "bytes of the vector, or of the block that one rank has for one other;\ndefault: 4-1M")
      ->option_text("BYTES");
  sub->add_option("--calls", options->calls, "auto-tuned calls of each size, 1 to 1000000; default: 300")
      ->range(1, 1000000)
      ->option_text("N");
  sub->add_option("--rounds", options->rounds, "rounds that compare tuned calls with the best, 1 to 1000;\ndefault: 12")
      ->range(1, 1000)
      ->option_text("N");
  sub->add_option("--table", options->table, "as COLL_TABLE: begin with the choices of this table")
      ->option_text("NAME");
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl bench tune\n"
               "  collctl bench tune --collective allreduce --sizes 64K,1M --table power8 --json"));
  sub->callback([&action, options] { action = [options] { return tune_command(*options); }; });
}

}  // namespace coll::tools
