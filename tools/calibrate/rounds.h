// SPDX-License-Identifier: BSD-3-Clause
// Timing many things fairly: processes pinned to cores of their own time each of them once a round, so that whatever
// drifts drifts under all alike; what a neighbour has disturbed is discarded and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace coll::tools {

// One thing to time. Made before the processes are forked; its functions run in each of them.
struct Probe {
  std::string name;                                 // for people, while it runs
  int repeats = 1;                                  // `timed` does it so often: results are of one
  int rehearsals = 0;                               // done so often before each sample, prepared alike, not timed
  std::function<bool(int process)> acts;            // which processes are timed; null: all. The others wait
  std::function<std::string(int process)> prepare;  // of all, not timed; null: nothing. "" or what went wrong
  std::function<std::string(int process)> timed;    // of those who act
};

// What became of a probe.
struct Timing {
  std::string problem;             // "" unless it cannot be done here
  double us = 0;                   // median of the samples kept; of each the slowest process counts
  double low_us = 0, high_us = 0;  // their quartiles
  uint32_t kept = 0, switched = 0,
           stray = 0;  // discarded: another process took the processor; took far longer than the rest
  bool good() const { return problem.empty() && kept > 0; }
  // Relative half width between the quartiles.
  double spread() const { return us > 0 ? (high_us - low_us) / 2 / us : 0; }
};

// Probes that are timed in the same rounds.
struct Stage {
  std::string name;                               // for people
  std::function<std::string(int process)> begin;  // in each process that is timed, before the first probe; "" or
                                                  // what is wrong, and then the stage is left out
  std::function<void(int process)> end;           // after the last one, if it began there
  std::vector<Probe> probes;
  double seconds = 20;  // no round begins after so long, once there are `least`
  int least = 5, most = 60;
};

struct RoundsTask {
  int processes = 1;                              // each pinned to the processor of its number
  std::vector<int> cpus;                          // [processes]
  bool with_one_at_rest = false;                  // one process more, not pinned, sleeps: its number is `processes`
  std::function<std::string(int process)> begin;  // in each process, once; "" or what is wrong, and then all fails
  std::vector<Stage> stages;                      // one after the other
  double most_seconds = 1e9;                      // stages that have not begun after so long are left out
  uint32_t seed = 1;                              // of the order of the probes within a round
};

struct StageResult {
  std::vector<Timing> of;  // [probes]
  int rounds = 0;
};

struct RoundsResult {
  std::vector<StageResult> stages;
  uint64_t samples = 0, discarded = 0;
};

// Samples of one probe: those that `switched` are discarded, then those that took half as long again as the
// fastest fifth. Pure.
struct Sample {
  double us = 0;
  bool switched = false;
};
Timing judge_samples(const std::vector<Sample>& samples);

// Forks the processes. Throws Failure. `show(share, what)` is called now and then with what is done, 0 to 1.
RoundsResult measure_rounds(const RoundsTask& task, const std::function<void(double, const std::string&)>& show);

}  // namespace coll::tools
