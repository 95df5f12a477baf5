// SPDX-License-Identifier: BSD-3-Clause
// The first error that any of several processes reports, in memory that they share.
#pragma once

#include <atomic>
#include <cstdio>
#include <string>

namespace coll::tools {

// In zeroed memory, no error is reported. `text` has one writer, the process that reports first; read it after all
// processes have ended.
struct FirstProblem {
  std::atomic<bool> reported{false};
  char text[512] = "";

  void report(const std::string& problem) {
    if (!reported.exchange(true)) std::snprintf(text, sizeof text, "%s", problem.c_str());
  }
};

}  // namespace coll::tools
