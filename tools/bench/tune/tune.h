// SPDX-License-Identifier: BSD-3-Clause
// Compares the setting that auto-tuning has found with the best one of an exhaustive sweep of algorithms, chunks and
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
  std::string table;  // COLL_TABLE of the tuned communicator; "": the setting of the user
};

// One collective and size. Times are medians over calls of the slowest rank, in microseconds.
struct TuneCell {
  plan::Collective collective = plan::Collective::bcast;
  uint64_t bytes = 0;
  uint32_t swept = 0;  // number of settings
  // Times of the setting that was found, without auto-tuning, of the best setting, and of the same in another
  // communicator.
  double tuned_us = 0, untuned_us = 0, best_us = 0, again_us = 0;
  double spread = 0;                     // interquartile range of the best setting's calls over their median
  char tuned[128] = "", best[128] = "";  // values of the collective's variable; tuned "": the default

  double ratio() const { return tuned_us / best_us; }
};

// Memory that the ranks share with collctl. Rank 0 writes it; cells before `finished` are complete.
struct TuneBoard {
  static constexpr size_t most_cells = 1024;
  std::atomic<uint32_t> finished;
  FirstProblem problem;
  TuneCell cells[most_cells];
};

// `bench tune`; call it after add_bench().
void add_tune(Command& app, Action& action);

// Returns every setting that is compared: values of the collective's variable.
std::vector<std::string> tune_settings(plan::Collective collective, size_t bytes, int ranks);

// Runs one rank and returns its exit status. board.cells define what to measure. `lockstep` is memory that the ranks
// share.
int run_tune_rank(const TuneTask& task, TuneBoard& board, size_t cells, void* lockstep, int rank);

}  // namespace coll::tools
