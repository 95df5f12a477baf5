// SPDX-License-Identifier: BSD-3-Clause
// The sweep of collctl verify, for any set of algorithms, so that a test can pass a wrong one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "algo/registry.h"

namespace coll::tools {

struct SweepOptions {
  std::string collective = "all", algorithm, ranks = "1-64", topology = "package:2 numa:4 core:8";
  int interleavings = 10000;  // random ones per plan of up to 8 ranks, over all cases; other plans have one per case
  int threads = 0;            // 0: one per processor
  uint64_t seed = 1;
  bool json = false;
};

// Verifies, and prints the results. Returns the exit status. Throws Failure if options contradict each other.
int sweep(const SweepOptions& options, std::span<const algo::Algorithm> registry);

}  // namespace coll::tools
