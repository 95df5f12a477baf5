// SPDX-License-Identifier: BSD-3-Clause
#include "sync/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

using namespace coll::sync;

namespace {

TEST(Backoff, SpinsThenYieldsThenBlocks) {
  Backoff backoff({.spins = 3, .yields = 2});
  for (int i = 0; i < 3; i++) EXPECT_EQ(backoff.pause(), WaitStage::spin);
  for (int i = 0; i < 2; i++) EXPECT_EQ(backoff.pause(), WaitStage::yield);
  for (int i = 0; i < 100; i++) EXPECT_EQ(backoff.pause(), WaitStage::block);
}

TEST(Backoff, ANewOneStartsWithSpinning) {
  SpinPolicy policy{.spins = 1, .yields = 1};
  Backoff backoff(policy);
  while (backoff.pause() != WaitStage::block) {}
  backoff = Backoff(policy);
  EXPECT_EQ(backoff.pause(), WaitStage::spin);
}

TEST(Backoff, OversubscribedRanksHardlySpin) {
  EXPECT_LE(SpinPolicy::oversubscribed(true).spins, 1u);
  EXPECT_GT(SpinPolicy::own_core().spins, 100u);
}

// For a rank on another core they spin as long as a yield takes, and then go through the same stages.
TEST(Backoff, OversubscribedRanksSpinForARankOnAnotherCore) {
  const SpinPolicy policy = SpinPolicy::oversubscribed(true);
  const auto begin = std::chrono::steady_clock::now();
  Backoff backoff(policy.for_another_core());
  while (backoff.pause() == WaitStage::spin) {}
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(yield_ns));
  uint32_t yields = 1;
  while (backoff.pause() == WaitStage::yield) yields++;
  EXPECT_GE(yields, policy.yields - 1);
  EXPECT_LE(yields, policy.yields);
  EXPECT_EQ(backoff.pause(), WaitStage::block);
}

// Yields that return at once end the stage long before its maximum. If every yield runs another process they do not, so
// the number is only an upper bound.
TEST(Backoff, UselessYieldsEndInBlocking) {
  constexpr uint32_t yields = 100'000;
  Backoff backoff({.spins = 0, .yields = yields, .max_useless_yields = 5});
  uint32_t pauses = 0;
  while (backoff.pause() != WaitStage::block) ASSERT_LE(++pauses, yields);
  EXPECT_GE(pauses, 5u);
  EXPECT_EQ(backoff.yields_are_useless(), pauses < yields);
  EXPECT_FALSE(Backoff({.spins = 0, .yields = 0}).yields_are_useless());
}

TEST(Backoff, SleepsGetLonger) {
  Backoff backoff({.spins = 0, .yields = 0});
  uint32_t all_us = 0, sleeps = 0;
  for (uint32_t last = 0; last < longest_sleep_us; sleeps++) {
    const uint32_t next = backoff.next_sleep_us();
    EXPECT_LE(next, std::max(first_sleep_us, all_us + first_sleep_us));
    all_us += last = next;
  }
  EXPECT_LE(sleeps, 7u);
  EXPECT_EQ(backoff.next_sleep_us(), longest_sleep_us);
}

}  // namespace
