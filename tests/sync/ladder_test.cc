// SPDX-License-Identifier: BSD-3-Clause
#include "sync/ladder.h"

#include <gtest/gtest.h>

using namespace coll::sync;

namespace {

TEST(Ladder, SpinsThenYieldsThenStaysOnTop) {
  Ladder ladder({.spins = 3, .yields = 2});
  for (int i = 0; i < 3; i++) EXPECT_EQ(ladder.climb(), Rung::spin);
  for (int i = 0; i < 2; i++) EXPECT_EQ(ladder.climb(), Rung::yield);
  for (int i = 0; i < 100; i++) EXPECT_EQ(ladder.climb(), Rung::sleep);
}

TEST(Ladder, ANewOneStartsAtTheBottom) {
  Patience patience{.spins = 1, .yields = 1};
  Ladder ladder(patience);
  while (ladder.climb() != Rung::sleep) {}
  ladder = Ladder(patience);
  EXPECT_EQ(ladder.climb(), Rung::spin);
}

// Who shares a core does not spin it away.
TEST(Ladder, ACrowdHardlySpins) {
  EXPECT_LE(Patience::crowded(true).spins, 1u);
  EXPECT_GT(Patience::alone().spins, 100u);
}

// Yields that come back at once end the rung long before its number is used up; where every yield lets somebody run they
// do not, so the number is a bound only.
TEST(Ladder, VainYieldsEndInSleep) {
  Ladder ladder({.spins = 0, .yields = 1'000'000, .vain_yields = 5});
  uint32_t climbs = 0;
  while (ladder.climb() != Rung::sleep) ASSERT_LE(++climbs, 1'000'000u);
  EXPECT_GE(climbs, 5u);
}

}  // namespace
