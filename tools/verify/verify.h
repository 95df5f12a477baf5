// SPDX-License-Identifier: BSD-3-Clause
// The sweep behind collctl verify, for any set of algorithms, so that a test can give it a wrong one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "algo/registry.h"

namespace coll::tools {

struct SweepOptions {
  std::string collective = "all", algorithm, ranks = "1-64", topology = "package:2 numa:4 core:8";
  int interleavings =
      10000;        // random ones for each plan of up to 8 ranks, spread over its cases; others have one a case
  int threads = 0;  // 0: one per processor
  uint64_t seed = 1;
  bool json = false;
};

// Verifies and prints; returns the exit status. Throws Failure for options that do not fit.
int sweep(const SweepOptions& options, std::span<const algo::Algorithm> registry);

}  // namespace coll::tools
