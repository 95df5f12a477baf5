// SPDX-License-Identifier: BSD-3-Clause
#include "mem/adaptive.h"

#include <gtest/gtest.h>

namespace coll::mem {
namespace {

constexpr size_t KiB = 1024, MiB = 1024 * KiB;

TEST(Adaptive, PrivateCachesCountOnlyWithANonInclusiveLastLevel) {
  EXPECT_EQ(available_cache({32 * MiB, MiB, false}, 8), 40 * MiB);
  EXPECT_EQ(available_cache({32 * MiB, MiB, true}, 8), 32 * MiB);
  EXPECT_EQ(available_cache({0, 512 * KiB, false}, 2), MiB);
  EXPECT_EQ(available_cache({32 * MiB, MiB, false}, 0), 32 * MiB);
}

TEST(Adaptive, StreamsOnlyDataThatIsNotReusedAndDoesNotFit) {
  struct {
    bool reused;
    size_t work_set, cache;
    Stores expected;
  } const rows[] = {
      {false, 100, 99, Stores::non_temporal},  {false, 100, 100, Stores::temporal},
      {false, 100, 101, Stores::temporal},     {true, 100, 99, Stores::temporal},
      {true, 100, 101, Stores::temporal},      {false, 0, 0, Stores::temporal},
      {true, ~size_t{0}, 0, Stores::temporal}, {false, ~size_t{0}, 1, Stores::non_temporal},
  };
  for (const auto& row : rows)
    EXPECT_EQ(choose_stores(row.reused, row.work_set, row.cache), row.expected)
        << row.reused << " " << row.work_set << " " << row.cache;
}

// Socket-aware movement-avoiding allreduce, W = 2sp + mpI with m = 2 sockets, on the two machines of YHCCL: the largest
// vector that still fits is 2048 KiB on 64 cores and 1088 KiB on 48 (the paper prints the values of m = 1).
TEST(Adaptive, SwitchPointsOfThePaper) {
  struct {
    CacheInfo cache;
    size_t ranks, slice_bytes, largest_that_fits;
  } const machines[] = {
      {{256 * MiB, 512 * KiB, false}, 64, 256 * KiB, 2048 * KiB},
      {{66 * MiB, MiB, false}, 48, 128 * KiB, 1088 * KiB},
  };
  for (const auto& machine : machines) {
    const size_t available = available_cache(machine.cache, static_cast<int>(machine.ranks));
    auto stores_for = [&](size_t vector_bytes) {
      const size_t work_set = 2 * vector_bytes * machine.ranks + 2 * machine.ranks * machine.slice_bytes;
      return choose_stores(false, work_set, available);
    };
    EXPECT_EQ(stores_for(machine.largest_that_fits), Stores::temporal) << machine.ranks;
    EXPECT_EQ(stores_for(machine.largest_that_fits + 64), Stores::non_temporal) << machine.ranks;
  }
}

}  // namespace
}  // namespace coll::mem
