// SPDX-License-Identifier: BSD-3-Clause
// Fair timing of many things: processes that are pinned to cores of their own time each probe once per round, so that
// slow changes of the machine affect all probes alike. Disturbed samples are discarded and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace coll::tools {

// One thing to time. It is constructed before the processes are forked, and its functions run in each of them.
struct Probe {
  std::string name;                                 // shown to the user while the probe runs
  int repeats = 1;                                  // number of repetitions inside `timed`; times are per repetition
  int rehearsals = 0;                               // number of untimed runs before each sample, each with `prepare`
  std::function<bool(int process)> acts;            // whether the process is timed; null: all are; the others wait
  std::function<std::string(int process)> prepare;  // runs in all processes, untimed; null: nothing; "" or an error
  std::function<std::string(int process)> timed;    // runs in the processes that are timed
  std::function<void(int process)> use;             // directly after `timed`: uses its result; null: nothing
};

// The time of a probe.
struct Timing {
  std::string problem;             // "", or why the probe is impossible here
  double us = 0;                   // median of the kept samples; a sample is the time of the slowest process
  double used_us = 0;              // the same until every process has used the result, from the start on
  double low_us = 0, high_us = 0;  // quartiles of the kept samples
  uint32_t kept = 0, switched = 0,
           stray = 0;  // discarded: another process ran on the core; outlier
  bool good() const { return problem.empty() && kept > 0; }
  // Relative half width of the interquartile range.
  double spread() const { return us > 0 ? (high_us - low_us) / 2 / us : 0; }
};

// Probes that are timed in the same rounds.
struct Stage {
  std::string name;                               // shown to the user
  std::function<std::string(int process)> begin;  // in each timed process, before the first probe; returns
                                                  // "", or an error, which skips the stage
  std::function<void(int process)> end;           // runs after the last probe if `begin` succeeded
  std::vector<Probe> probes;
  double seconds = 20;  // no round begins later than this, after `least` rounds
  int least = 5, most = 60;
};

struct RoundsTask {
  int processes = 1;                              // each is pinned to its processor of `cpus`
  std::vector<int> cpus;                          // [processes]
  bool with_one_at_rest = false;                  // adds a process, number `processes`, that is not pinned and sleeps
  std::function<std::string(int process)> begin;  // runs once in each process; "", or an error, which ends the run
  std::vector<Stage> stages;                      // run in this order
  double most_seconds = 1e9;                      // stages that would begin later than this are skipped
  uint32_t seed = 1;                              // of the order of the probes in a round
};

struct StageResult {
  std::vector<Timing> of;  // [probes]
  int rounds = 0;
};

struct RoundsResult {
  std::vector<StageResult> stages;
  uint64_t samples = 0, discarded = 0;
};

// Summarises the samples of one probe. Discards `switched` samples, then those that exceed 1.5 times the 20th
// percentile. Pure function.
struct Sample {
  double us = 0;
  bool switched = false;
  double used_us = 0;
};
Timing summarize_samples(const std::vector<Sample>& samples);

// Forks the processes. Throws Failure. Calls `show(share, what)` periodically with the finished share, 0 to 1.
RoundsResult measure_rounds(const RoundsTask& task, const std::function<void(double, const std::string&)>& show);

}  // namespace coll::tools
