// SPDX-License-Identifier: BSD-3-Clause
// For every collective, number of ranks and size: the algorithm that the model thinks best, or next to best, and that the
// clock found to be.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/table.h"
#include "tools/calibrate/choose/contest.h"
#include "topo/machine.h"

namespace coll::tools {

struct ChooseTask {
  std::vector<int> cpus;
  topo::Machine machine;
  int most_ranks = 2;
  double seconds = 60;  // for all that is timed
  bool quick = false;   // two heats, not four
};

struct Decisions {
  std::vector<Contest> contests;
  std::vector<model::Chosen> chosen;  // in a table's order
  int timed = 0;                      // contests with a winner
  int first_was_best = 0;             // where the one predicted to be best took at most a tenth longer than the winner
  double median_error = 0;            // relative, of predicted against measured time of all that was timed
  uint64_t samples = 0, discarded = 0;
};

// Numbers of ranks that choices are made for: 2, 4, 8 ... and `most`.
std::vector<int> rank_counts(int most);

// Forks; throws Failure. Empty for fewer than two ranks.
Decisions choose_all(const ChooseTask& task, const model::Table& table,
                     const std::function<void(double, const std::string&)>& show);

}  // namespace coll::tools
