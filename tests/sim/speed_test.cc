// SPDX-License-Identifier: BSD-3-Clause
// The simulator runs a plan of a full node in well under a second.
#include <gtest/gtest.h>

#include <chrono>

#include "virtual_runs.h"

namespace coll::sim {
namespace {

using testing::Machine;

constexpr size_t kib = 1024, mib = 1024 * kib;

TEST(Speed, OneHundredAndSixtyRanksInWellUnderASecond) {
  const Machine arm("arm-n1", 160);
  const auto begin = std::chrono::steady_clock::now();
  const Result run = run_of(arm, plan_of(arm, plan::Collective::bcast, "hierarchical", {.chunk_bytes = 16 * kib}), mib);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("160 ranks, 1 MiB in chunks of 16 KiB: %.3f s for %llu steps\n", seconds, (unsigned long long)run.steps);
  EXPECT_LT(seconds, 1);
}

}  // namespace
}  // namespace coll::sim
