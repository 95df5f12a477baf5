// SPDX-License-Identifier: BSD-3-Clause
// The seed of the random numbers of a test program: COLL_TEST_SEED if it is set, else a new one for each run. The
// program prints it at its start, so that a failed run can be repeated; ranks that are forked later use the same seed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace coll::test {

inline const uint64_t seed_of_run = [] {
  const char* given = std::getenv("COLL_TEST_SEED");
  const uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device()();
  setenv("COLL_TEST_SEED", std::to_string(chosen).c_str(), 1);  // also for programs that the test starts
  std::printf("COLL_TEST_SEED=%llu\n", static_cast<unsigned long long>(chosen));
  std::fflush(stdout);
  return chosen;
}();

inline uint64_t seed() { return seed_of_run; }

}  // namespace coll::test
