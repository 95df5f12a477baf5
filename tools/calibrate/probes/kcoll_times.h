// SPDX-License-Identifier: BSD-3-Clause
// Where kcoll's time goes, of all processes: from its tracepoints where this process may read them, else from its
// counters, which anybody may.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "transport/process.h"

namespace coll::tools {

struct KcollTimes {
  std::string source;  // "tracepoints" or "counters"
  uint64_t lost = 0;   // events that the kernel's buffer had no room for
  // Copies that were timed, and sums over them. Waiting: for the throttle, the lock and the pages.
  uint64_t copies = 0, copied_bytes = 0;
  double total_us = 0, copy_us = 0, wait_us = 0;
  // Page sets pinned, and sums over them.
  uint64_t pins = 0, pages = 0;
  double throttle_us = 0, lock_us = 0, pin_us = 0;
  // By how many tasks were pinning in one owner at once: pages, and the time of their lock and pinning.
  struct Crowd {
    uint64_t pages = 0;
    double us = 0;
    double each_us() const { return us / double(pages); }
  };
  std::map<int, Crowd> crowds;  // counters: by the upper end of their classes 1, 2, 4, 8 ...

  double startup_us() const { return total_us - copy_us - wait_us; }
  KcollTimes& operator+=(const KcollTimes& other);  // of the same source
};
// "kcoll by its counters: per set of 16 pages: gate wait 0.1 us, lock 0.2 us, pin 1.3 us; per copy ..."; for people.
std::string text(const KcollTimes& times);

// Watches the module's work from its construction to stop().
class KcollWatch {
 public:
  // Uses the tracepoints, or the counters if those are not readable. `domain`: the one that the watched processes join.
  // Null, and the reason in `problem`, without the module or permission to open it.
  static std::unique_ptr<KcollWatch> start(const transport::Token& domain, std::string& problem);
  // `domain`: null if the watched processes join none. `remark`: why the tracepoints are not used.
  static std::unique_ptr<KcollWatch> by_counters(std::string& problem, const transport::Token* domain = nullptr,
                                                 const std::string& remark = "");
  virtual ~KcollWatch() = default;
  virtual KcollTimes stop() = 0;
  // Why there are counters instead of tracepoints; "".
  virtual std::string remark() const { return ""; }
};

}  // namespace coll::tools
