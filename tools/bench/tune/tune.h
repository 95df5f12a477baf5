// SPDX-License-Identifier: BSD-3-Clause
// The setting that auto-tuning has found after some calls, beside the best of an exhaustive sweep of algorithms, chunks and
// depths.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "tools/command.h"
#include "tools/common/first_problem.h"

namespace coll::tools {

struct TuneTask {
  int ranks = 2, calls = 300, rounds = 12;
  bool spin = true;   // each rank has a processor of its own
  std::string table;  // COLL_TABLE of the tuned communicator; "": as the user has it
};

// One collective and size. Times are medians of the slowest rank's, in microseconds.
struct TuneCell {
  plan::Collective collective = plan::Collective::bcast;
  uint64_t bytes = 0;
  uint32_t swept = 0;  // settings
  // Of the setting that was found, of the one without auto-tuning, of the best one, and of that in another communicator.
  double tuned_us = 0, untuned_us = 0, best_us = 0, again_us = 0;
  double spread = 0;                     // of the best one's calls: the middle half over the median
  char tuned[128] = "", best[128] = "";  // as the collective's variable takes it; tuned "": as without auto-tuning

  double ratio() const { return tuned_us / best_us; }
};

// What the ranks and collctl share. Rank 0 writes; cells before `finished` are complete.
struct TuneBoard {
  static constexpr size_t most_cells = 1024;
  std::atomic<uint32_t> finished;
  FirstProblem problem;
  TuneCell cells[most_cells];
};

// `bench tune`; after add_bench().
void add_tune(Command& app, Action& action);

// Every setting that is compared: the values of the collective's variable.
std::vector<std::string> tune_settings(plan::Collective collective, size_t bytes, int ranks);

// The whole life of a rank: its exit status. board.cells say what to measure. `lockstep` is shared memory of the ranks.
int run_tune_rank(const TuneTask& task, TuneBoard& board, size_t cells, void* lockstep, int rank);

}  // namespace coll::tools
