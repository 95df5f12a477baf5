// SPDX-License-Identifier: BSD-3-Clause
// Collectives of the library with given algorithms, run for real and timed beside each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/choose.h"
#include "model/table.h"
#include "rounds.h"

namespace coll::tools {

// One way to make a collective.
struct Entrant {
  model::Choice choice;  // algorithm null: the hand-written paths for tiny payloads
  double predicted_us = 0;
  Timing timing;  // after run_contests()
};
// "fused:chunk=131072,depth=2 by kernel copies"; for people.
std::string text(const model::Choice& choice);
std::string text(const model::Chosen& chosen);

// Best predicted first.
struct Contest {
  plan::Collective collective = plan::Collective::barrier;
  int ranks = 2;
  size_t bytes = 0;  // of the vector, or of a piece
  std::vector<Entrant> entrants;
  // Of those that were timed the fastest; -1: none was.
  int winner() const;
};

// Fills in the timings. All contests have the same number of ranks, at most as many as there are `cpus`; each gets about
// `seconds` of calls. What is timed is the call alone, of the slowest rank after a common start; inputs are rewritten
// before. Forks; throws Failure.
void run_contests(std::vector<Contest>& contests, const std::vector<int>& cpus, double seconds,
                  const std::function<void(double, const std::string&)>& show);

}  // namespace coll::tools
