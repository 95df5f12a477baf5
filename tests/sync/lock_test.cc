// SPDX-License-Identifier: BSD-3-Clause
#include "sync/lock.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

using coll::sync::Lock;

namespace {

TEST(Lock, ATryOfTheThreadThatHasItFails) {
  Lock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

TEST(Lock, OneThreadAtATimeHasIt) {
  constexpr int threads = 4, turns = 20'000;
  Lock lock;
  int count = 0;  // not atomic
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++)
    all.emplace_back([&] {
      for (int turn = 0; turn < turns; turn++) {
        const std::lock_guard held(lock);
        count++;
        if (turn % 1000 == 0) std::this_thread::yield();  // so that others sleep
      }
    });
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(count, threads * turns);
}

}  // namespace
