// SPDX-License-Identifier: BSD-3-Clause
// Selects an algorithm for every collective, number of ranks and size: the fastest measured one among those with the
// best predictions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/table.h"
#include "tools/calibrate/choose/comparison.h"
#include "topo/machine.h"

namespace coll::tools {

struct ChooseTask {
  std::vector<int> cpus;
  topo::Machine machine;
  int most_ranks = 2;
  double seconds = 60;  // for all measurements together
  bool quick = false;   // two phases instead of four
};

struct Decisions {
  std::vector<Comparison> comparisons;
  std::vector<model::Chosen> chosen;  // in the order of a table
  int timed = 0;                      // comparisons with a winner
  int first_was_best = 0;             // the best prediction took at most 1.1 times the time of the winner
  double median_error = 0;            // of |predicted / measured - 1| over all candidates that were timed
  uint64_t samples = 0, discarded = 0;
};

// The rows of a table from timed comparisons, each of which has a candidate; pure function.
std::vector<model::Chosen> select(const std::vector<Comparison>& of);

// Numbers of ranks that get rows in the table: 2, 4, 8 ... and `most`.
std::vector<int> rank_counts(int most);

// Returns no decisions for fewer than two ranks. Forks processes. Throws Failure.
Decisions choose_all(const ChooseTask& task, const model::Table& table,
                     const std::function<void(double, const std::string&)>& show);

}  // namespace coll::tools
