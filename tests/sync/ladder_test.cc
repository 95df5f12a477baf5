// SPDX-License-Identifier: BSD-3-Clause
#include "sync/ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

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

// But for a rank that has a core of its own it waits as long as a yield takes, before the same rungs as otherwise.
TEST(Ladder, ACrowdWaitsALittleForAnotherCore) {
  const Patience crowd = Patience::crowded(true);
  const auto begin = std::chrono::steady_clock::now();
  Ladder ladder(crowd.for_another_core());
  while (ladder.climb() == Rung::spin) {}
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(yield_ns));
  uint32_t yields = 1;
  while (ladder.climb() == Rung::yield) yields++;
  EXPECT_GE(yields, crowd.yields - 1);
  EXPECT_LE(yields, crowd.yields);
  EXPECT_EQ(ladder.climb(), Rung::sleep);
}

// Yields that come back at once end the rung long before its number is used up; where every yield lets somebody run they
// do not, so the number is a bound only.
TEST(Ladder, VainYieldsEndInSleep) {
  constexpr uint32_t yields = 100'000;
  Ladder ladder({.spins = 0, .yields = yields, .vain_yields = 5});
  uint32_t climbs = 0;
  while (ladder.climb() != Rung::sleep) ASSERT_LE(++climbs, yields);
  EXPECT_GE(climbs, 5u);
  EXPECT_EQ(ladder.in_vain(), climbs < yields);
  EXPECT_FALSE(Ladder({.spins = 0, .yields = 0}).in_vain());
}

TEST(Ladder, SleepsGetLonger) {
  Ladder ladder({.spins = 0, .yields = 0});
  uint32_t all_us = 0, sleeps = 0;
  for (uint32_t last = 0; last < longest_sleep_us; sleeps++) {
    const uint32_t next = ladder.sleep_us();
    EXPECT_LE(next, std::max(first_sleep_us, all_us + first_sleep_us));
    all_us += last = next;
  }
  EXPECT_LE(sleeps, 7u);
  EXPECT_EQ(ladder.sleep_us(), longest_sleep_us);
}

}  // namespace
