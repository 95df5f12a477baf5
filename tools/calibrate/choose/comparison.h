// SPDX-License-Identifier: BSD-3-Clause
// Runs collectives of the library with given algorithms and times them in turn.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/table.h"
#include "tools/calibrate/rounds.h"
#include "tune/choice.h"

namespace coll::tools {

// One algorithm with its parameters and transport.
struct Candidate {
  tune::Choice choice;  // algorithm null: the hand-written latency path
  double predicted_us = 0;
  bool builtin = false;        // selected by communicators that have no table
  Timing timing;               // set by run_comparisons()
  bool in_every_phase = true;  // no phase dropped it
};
// Returns text for people, such as "fused:chunk=131072,depth=2 with kernel-assisted copies".
std::string text(const model::Chosen& chosen);

struct Comparison {
  plan::Collective collective = plan::Collective::barrier;
  int ranks = 2;
  size_t bytes = 0;  // of the vector, or of one block
  std::vector<Candidate> candidates;
  // Index of the candidate that was fastest, with the use of its result, with or without the latency path, of those that
  // were timed in every phase or, if there are none, at all; -1: none was timed.
  int winner(bool with_latency = true) const;
  // The latency path, or the algorithm that comes first; null: there is none.
  const Candidate* first(bool latency) const;
};

// Every comparison finishes a phase before any comparison starts the next one, so a machine that is slow for some
// seconds slows all candidates of some comparisons in one phase only. A phase drops candidates that took more than
// `within` times as long as the fastest one.
struct Phase {
  double seconds = 0.1;  // approximate time of each comparison
  int least = 3;         // minimum number of rounds
  double within = 1.3;
};
struct Rules {
  std::vector<Phase> phases;
  bool first_stays = false;   // the first candidate is never dropped
  double most_seconds = 1e9;  // later comparisons are skipped; one without any phase has no times
};

// Sets the timings of all candidates. All comparisons have the same number of ranks, at most cpus.size(). The time is
// that of the call on the slowest rank, after a common start; every rank rewrites its input before, and each rank that
// has a result reads it afterwards, as in `collctl bench`. Candidates are compared by the time with that reading, since
// algorithms leave results in different caches. Forks processes. Throws Failure.
void run_comparisons(std::vector<Comparison>& comparisons, const std::vector<int>& cpus, const Rules& rules,
                     const std::function<void(double, const std::string&)>& show);

// Combines the times of all phases to one time for each candidate. times[phase][candidate] is 0 if the candidate was
// dropped before the phase or every sample was disturbed. A candidate that was dropped early is scaled by its ratio to
// a candidate with the most phases, in the phases that both have. Pure function.
std::vector<double> combine_phases(const std::vector<std::vector<double>>& times);

}  // namespace coll::tools
