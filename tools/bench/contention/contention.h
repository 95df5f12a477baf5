// SPDX-License-Identifier: BSD-3-Clause
// Times and counts concurrent accesses to other processes' memory (collctl bench contention).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/contention/access.h"

namespace coll::tools {

// The patterns of Figure 2 of the CMA paper: whose memory the accessing process i uses. `one` is the process at rest.
enum class AccessPattern {
  all_to_all,        // i reads from i - 1, the first from `one`: no memory has two readers
  one_to_all,        // all read the same bytes of `one`
  one_to_all_apart,  // all read from `one`, different bytes
  all_to_one         // all write to `one`, different bytes
};
inline constexpr std::array<const char*, 4> pattern_names = {"all_to_all", "one_to_all", "one_to_all_apart",
                                                             "all_to_one"};

struct ContentionTask {
  int ranks = 0;  // maximum number of concurrent accesses
  std::vector<CopyPath> paths;
  std::vector<AccessPattern> patterns;
  std::vector<int> pages;  // of 4 KiB, per access
  double seconds = 0.02;   // for each measurement
  bool busy = false;       // the process at rest maps and unmaps memory during the measurements
};

struct ContentionCell {
  CopyPath path;
  AccessPattern pattern;
  int pages, concurrent;
  uint32_t iterations = 0;
  double median_us = 0, p10_us = 0, p90_us = 0;
  double relative = 0;  // to the time of the same access alone
  // Counts per access; -1: not counted. Locks of mmap_lock, waits for any lock, waits at the gate of kcoll, pinned
  // pages.
  double locks = -1, lock_waits = -1, gate_waits = -1, pinned = -1;
};

struct ContentionResult {
  std::vector<std::string> problems;  // [paths]; "": it works here
  std::string counts_problem;         // "": events were counted
  bool spin = false;                  // each accessing process had a processor of its own
  int64_t wrong = 0;                  // bytes with a wrong value
  std::vector<ContentionCell> cells;  // by path, pattern, pages, number of accesses; failed paths have none
};

// Forks ranks + 1 processes. Throws Failure. Calls `show(done, all)` periodically.
ContentionResult measure_contention(const ContentionTask& task, const std::function<void(size_t, size_t)>& show);

}  // namespace coll::tools
