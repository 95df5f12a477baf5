// SPDX-License-Identifier: BSD-3-Clause
// Two sides post and sleep alternately, with random delays. Nearly all sleeps end by the bell: a lost wake-up costs a
// whole time-out.
#include "sync/doorbell.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "../seed.h"

using namespace coll::sync;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int rounds = 3000;
#else
constexpr int rounds = 20000;
#endif
constexpr uint32_t long_us = 100'000;

// One side's flag, bell, and data that the flag announces.
struct Side {
  FlagLine line{};
  Doorbell bell{};
  alignas(line_bytes) uint64_t data = 0;
  std::atomic<int> lost = 0;  // wake-ups

  void post(uint64_t value) {
    data = value * 3;
    line.sequence.store(value, std::memory_order_release);
    doorbell_after_post(bell);
  }
  struct Awaited {
    Side* side;
    uint64_t value;
  };
  // Sleeps at once, without spinning.
  void await(uint64_t value) {
    Awaited awaited{this, value};
    auto ready = [](const void* a) {
      auto& what = *static_cast<const Awaited*>(a);
      return what.side->line.sequence.load(std::memory_order_acquire) >= what.value;
    };
    while (!ready(&awaited)) {
      const auto begin = std::chrono::steady_clock::now();
      doorbell_sleep(bell, ready, &awaited, long_us);
      lost += std::chrono::steady_clock::now() - begin >= std::chrono::microseconds(long_us);
    }
  }
};

void dawdle(std::mt19937_64& random) {
  switch (random() % 16) {
    case 0: usleep(useconds_t(random() % 50)); break;
    case 1: std::this_thread::yield(); break;
    default:
      for (uint64_t i = random() % 300; i > 0; i--) coll::sync::pause();
  }
}

TEST(Doorbell, FewWakeUpsAreLostBetweenTwo) {
  auto sides = std::make_unique<Side[]>(2);
  const uint64_t base = coll::test::seed();
  auto play = [&](int me) {
    std::mt19937_64 random(base + uint64_t(me));
    for (uint64_t i = 1; i <= rounds; i++) {
      if (me == 0) dawdle(random), sides[0].post(i);
      sides[1 - me].await(i);
      EXPECT_EQ(sides[1 - me].data, i * 3);
      if (me == 1) dawdle(random), sides[1].post(i);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(sides[0].bell.sleepers.load(), 0u);
  EXPECT_EQ(sides[1].bell.sleepers.load(), 0u);
  // The poster has no fence, so some wake-ups may be lost.
  EXPECT_LE(sides[0].lost + sides[1].lost, rounds / 500);
}

TEST(Doorbell, RingsForAllSleepers) {
  auto poster = std::make_unique<Side>();
  auto readers = std::make_unique<Side[]>(3);
  const uint64_t base = coll::test::seed();
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; r++)
    threads.emplace_back([&, r] {
      std::mt19937_64 random(base + uint64_t(r));
      for (uint64_t i = 1; i <= rounds / 10; i++) {
        poster->await(i);
        dawdle(random);
        readers[r].post(i);
      }
    });
  for (uint64_t i = 1; i <= rounds / 10; i++) {
    poster->post(i);
    for (int r = 0; r < 3; r++) readers[r].await(i);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Doorbell, SleepEndsAtItsTimeOut) {
  Doorbell bell{};
  auto begin = std::chrono::steady_clock::now();
  doorbell_sleep(
      bell, [](const void*) { return false; }, nullptr, 20'000);
  auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took, std::chrono::seconds(5));
  EXPECT_GE(took, std::chrono::milliseconds(19));
  EXPECT_EQ(bell.sleepers.load(), 0u);
}

TEST(Doorbell, DoesNotSleepWhenReady) {
  Doorbell bell{};
  auto begin = std::chrono::steady_clock::now();
  doorbell_sleep(
      bell, [](const void*) { return true; }, nullptr, 10'000'000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
