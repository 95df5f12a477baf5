// SPDX-License-Identifier: BSD-3-Clause
// The seed of a test program's random numbers: COLL_TEST_SEED if it is set, else a new one for each run. The program prints it
// when it starts, so that a failed run can be repeated and ranks that are forked later have the same seed.
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
  setenv("COLL_TEST_SEED", std::to_string(chosen).c_str(), 1);  // for programs that the test starts
  std::printf("COLL_TEST_SEED=%llu\n", static_cast<unsigned long long>(chosen));
  std::fflush(stdout);
  return chosen;
}();

inline uint64_t seed() { return seed_of_run; }

}  // namespace coll::test
