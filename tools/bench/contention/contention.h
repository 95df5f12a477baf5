// SPDX-License-Identifier: BSD-3-Clause
// Concurrent accesses to other processes' memory, timed and counted (collctl bench contention).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/contention/access.h"

namespace coll::tools {

// As in CMA Figure 2. Who has the memory that process i of those that access at once uses; `one` is a process at rest.
enum class AccessPattern {
  all_to_all,        // i reads from i - 1, the first from `one`: no memory is accessed by two
  one_to_all,        // all read the same bytes of `one`
  one_to_all_apart,  // all read from `one`, each other bytes
  all_to_one         // all write to `one`, each other bytes
};
inline constexpr std::array<const char*, 4> pattern_names = {"all_to_all", "one_to_all", "one_to_all_apart",
                                                             "all_to_one"};

struct ContentionTask {
  int ranks = 0;  // most accesses at once
  std::vector<CopyPath> ways;
  std::vector<AccessPattern> patterns;
  std::vector<int> pages;  // of 4 KiB, per access
  double seconds = 0.02;   // for each measurement
  bool busy = false;       // the process at rest maps and unmaps memory of its own meanwhile
};

struct ContentionCell {
  CopyPath way;
  AccessPattern pattern;
  int pages, concurrent;
  uint32_t iterations = 0;
  double median_us = 0, p10_us = 0, p90_us = 0;
  double relative = 0;  // to the same access alone
  // Per access; -1: not counted. mmap_lock taken, waits for any lock, waits at kcoll's gate, pages pinned.
  double locks = -1, lock_waits = -1, gate_waits = -1, pinned = -1;
};

struct ContentionResult {
  std::vector<std::string> problems;  // [ways]; "": it works here
  std::string counts_problem;         // "": counted
  bool spin = false;                  // each accessing process had a processor of its own
  int64_t wrong = 0;                  // bytes that did not arrive where they should
  std::vector<ContentionCell> cells;  // ways that work, patterns, pages, concurrent; the last fastest
};

// Forks ranks + 1 processes. Throws Failure. `show(done, all)` is called now and then.
ContentionResult measure_contention(const ContentionTask& task, const std::function<void(size_t, size_t)>& show);

}  // namespace coll::tools
