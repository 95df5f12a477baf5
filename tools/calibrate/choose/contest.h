// SPDX-License-Identifier: BSD-3-Clause
// Collectives of the library with given algorithms, run for real and timed beside each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/table.h"
#include "tools/calibrate/rounds.h"
#include "tune/choice.h"

namespace coll::tools {

// One way to make a collective.
struct Entrant {
  tune::Choice choice;  // algorithm null: the hand-written paths for short payloads
  double predicted_us = 0;
  bool builtin = false;    // what communicators without a table take
  Timing timing;           // after run_contests()
  bool to_the_end = true;  // it was in every heat
};
// "fused:chunk=131072,depth=2 with kernel-assisted copies"; for people.
std::string text(const model::Chosen& chosen);

struct Contest {
  plan::Collective collective = plan::Collective::barrier;
  int ranks = 2;
  size_t bytes = 0;  // of the vector, or of a piece
  std::vector<Entrant> entrants;
  // Of those that were timed to the end the fastest, with or without the hand-written path; -1: none was.
  int winner(bool with_latency = true) const;
};

// All contests have a heat before any has its next: a machine that is slow for some seconds slows all entrants of some
// contests in one of their heats. Whoever took longer than `within` times the fastest is not in the next one.
struct Heat {
  double seconds = 0.1;  // of each contest, about
  int least = 3;         // rounds
  double within = 1.3;
};
struct Rules {
  std::vector<Heat> heats;
  bool first_stays = false;   // the first entrant is in every heat
  double most_seconds = 1e9;  // then no contest begins: without a heat of its own it has no times
};

// Fills in the timings. All contests have the same number of ranks, at most as many as there are `cpus`. What is timed is
// the call alone, of the slowest rank after a common start; the last result is read and inputs are rewritten before.
// Forks; throws Failure.
void run_contests(std::vector<Contest>& contests, const std::vector<int>& cpus, const Rules& rules,
                  const std::function<void(double, const std::string&)>& show);

// One time for each entrant from those of its heats: times[heat][entrant], 0 where it was not in or all was disturbed.
// Who left early is compared where it was in, with one that was in most. Pure.
std::vector<double> over_heats(const std::vector<std::vector<double>>& times);

}  // namespace coll::tools
