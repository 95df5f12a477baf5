// SPDX-License-Identifier: BSD-3-Clause
// What went wrong first, told by whichever of several processes noticed it; lies in memory that they share.
#pragma once

#include <atomic>
#include <cstdio>
#include <string>

namespace coll::tools {

// Zeroed memory is one of which nothing was told. `text` has one writer, the process that told first; read it when all
// have ended.
struct FirstProblem {
  std::atomic<bool> told{false};
  char text[512] = "";

  void tell(const std::string& problem) {
    if (!told.exchange(true)) std::snprintf(text, sizeof text, "%s", problem.c_str());
  }
};

}  // namespace coll::tools
