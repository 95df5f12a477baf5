// SPDX-License-Identifier: BSD-3-Clause
// Where kcoll spends its time, in all processes: from its tracepoints if this process may read them, else from its
// counters, which any process may read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "transport/process.h"

namespace coll::tools {

struct KcollTimes {
  std::string source;  // "tracepoints" or "counters"
  uint64_t lost = 0;   // events that did not fit into the buffer of the kernel
  // Timed copies, and sums over them. A copy waits for the throttle, the lock and the pages.
  uint64_t copies = 0, copied_bytes = 0;
  double total_us = 0, copy_us = 0, wait_us = 0;
  // Pinned page sets, and sums over them.
  uint64_t pins = 0, pages = 0;
  double throttle_us = 0, lock_us = 0, pin_us = 0;
  // Pages that were pinned while a given number of tasks pinned pages of the same owner, and the time of their locks
  // and pins.
  struct Concurrent {
    uint64_t pages = 0;
    double us = 0;
    double each_us() const { return us / double(pages); }
  };
  std::map<int, Concurrent> by_concurrency;  // by number of tasks; for counters: upper end of the class 1, 2, 4, 8 ...

  double startup_us() const { return total_us - copy_us - wait_us; }
  KcollTimes& operator+=(const KcollTimes& other);  // both from the same source
};
// Returns text for people: "kcoll by its counters: per set of 16 pages: gate wait 0.1 us, lock 0.2 us, pin 1.3 us; per
// copy ...".
std::string text(const KcollTimes& times);

// Records the module's work from its construction to stop().
class KcollWatch {
 public:
  // Uses the tracepoints if they are readable, else the counters. `domain` is the domain that the watched processes
  // join. Returns null and the reason in `problem` if the module is missing or this process may not open it.
  static std::unique_ptr<KcollWatch> start(const transport::Token& domain, std::string& problem);
  // `domain`: null: the user's. `remark`: why the tracepoints are not used.
  static std::unique_ptr<KcollWatch> by_counters(std::string& problem, const transport::Token* domain = nullptr,
                                                 const std::string& remark = "");
  virtual ~KcollWatch() = default;
  virtual KcollTimes stop() = 0;
  // Why the counters are used instead of the tracepoints, or "".
  virtual std::string remark() const { return ""; }
};

}  // namespace coll::tools
