// SPDX-License-Identifier: BSD-3-Clause
#include "mem/shared_stores.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace coll::mem {
namespace {

constexpr size_t large = 64 << 10;

void update(SharedStores& stores, double times, int count) {
  for (int i = 0; i < count; i++) stores.update(times);
}

TEST(SharedStores, BypassCachesOnceMostLinesComeFromFarAway) {
  SharedStores stores;
  EXPECT_FALSE(stores.stream(large));
  update(stores, 1.2, 4);
  EXPECT_FALSE(stores.stream(large));
  update(stores, 1.2, 1);
  EXPECT_TRUE(stores.stream(large));
  EXPECT_TRUE(stores.stream(SharedStores::least_bytes));
  EXPECT_FALSE(stores.stream(SharedStores::least_bytes - 1));
}

TEST(SharedStores, FollowACoreThatMoves) {
  SharedStores stores;
  update(stores, 1.2, 8);
  update(stores, 0.4, 5);
  EXPECT_TRUE(stores.stream(large));  // three of eight: not sure
  update(stores, 0.4, 1);
  EXPECT_FALSE(stores.stream(large));
  update(stores, 1.2, 4);
  EXPECT_FALSE(stores.stream(large));
  update(stores, 1.2, 1);
  EXPECT_TRUE(stores.stream(large));
}

TEST(SharedStores, FlagsThatNobodyHasReadProveNothing) {
  SharedStores stores;
  update(stores, 1.2, 8);
  update(stores, 0.05, 100);
  EXPECT_TRUE(stores.stream(large));
}

// Calls that are alike store as many flags each: some other flag of theirs must get its turn.
TEST(SharedStores, AfterAFlagThatNobodyHasReadAnotherIsTriedSooner) {
  SharedStores stores;
  std::set<int> flags_later;
  for (int i = 0; i < 7; i++) {
    stores.update(0.05);
    int flags = 1;
    while (!stores.is_due()) flags++;
    flags_later.insert(flags);
  }
  EXPECT_EQ(flags_later, (std::set<int>{6, 7, 8, 9, 10, 11, 12}));
}

TEST(SharedStores, DoAsTheyAreTold) {
  SharedStores stores;
  stores.pin(true);
  update(stores, 0.3, 20);
  EXPECT_TRUE(stores.stream(large));
  stores.pin(false);
  update(stores, 1.2, 20);
  EXPECT_FALSE(stores.stream(large));
}

TEST(SharedStores, InterruptsNowAndThenChangeNothing) {
  SharedStores stores;
  for (int i = 0; i < 100; i++) {
    stores.update(50);
    update(stores, 0.3, 3);
    EXPECT_FALSE(stores.stream(large));
  }
}

TEST(SharedStores, MeasureNowAndThenAndKeepTheFlag) {
  SharedStores stores;
  std::atomic<uint64_t> flag = 41;
  // 6 to 12 flags from one measurement to the next where it proves nothing, as here, but an interrupt or an instrumented
  // build may make the flag look like one that a peer has read: then 16 or 64.
  std::set<int> flags_later;
  int measured = 0, as_if_read = 0;  // as_if_read: flags that passed after the latter
  for (int i = 0, last = -1; i < 1000; i++) {
    const bool next = stores.is_next_due(), due = stores.is_due();
    EXPECT_EQ(next, due);
    if (!due) continue;
    stores.measure(flag);
    if (measured++ > 0) flags_later.insert(i - last);
    if (i - last >= 16) as_if_read += i - last;
    last = i;
  }
  EXPECT_GE(measured, (1000 - as_if_read) / 32);
  EXPECT_LE(measured, 1000 / 8);
  for (const int flags : flags_later) EXPECT_TRUE((flags >= 6 && flags <= 12) || flags == 16 || flags == 64) << flags;
  EXPECT_EQ(flag, 41u);
  EXPECT_FALSE(stores.stream(large));  // nobody else reads it
}

#if defined(__x86_64__)
// What was staged just before the flag may still be waiting for its lines: that says nothing about the flag.
TEST(SharedStores, DoNotMeasureTheStoresBeforeTheFlag) {
  constexpr size_t lines = 64, apart = 4096 + 64;
  std::vector<char> staged(lines * apart, 1);
  SharedStores stores;
  alignas(64) std::atomic<uint64_t> flag = 1;
  for (int i = 0; i < 64; i++) {
    for (size_t line = 0; line < lines; line++) _mm_clflush(&staged[line * apart]);
    _mm_mfence();
    flag.fetch_add(1);
    for (size_t line = 0; line < lines; line++) staged[line * apart] = char(i);
    stores.measure(flag);
    ASSERT_FALSE(stores.stream(large));
  }
}

// The measurement has to fetch the flag's line, which an optimizer may take for superfluous.
TEST(SharedStores, MeasureAFlagInNoCacheAsDistant) {
  SharedStores stores;
  // In the middle of pages that nothing else touches, or a prefetcher brings the flag's line together with its neighbours.
  struct alignas(4096) Pages {
    char before[4096];
    std::atomic<uint64_t> flag = 1;
    char after[4096];
  };
  const auto pages = std::make_unique<Pages>();
  for (int i = 0; i < 200 && !stores.stream(large); i++) {
    _mm_clflush(&pages->flag);
    _mm_mfence();
    stores.measure(pages->flag);
  }
  EXPECT_TRUE(stores.stream(large));
}
#endif

TEST(SharedStores, LongDataBringTheNextMeasurementNearer) {
  SharedStores stores;
  stores.update(0.3);
  ASSERT_FALSE(stores.is_due());
  stores.count(4096);
  ASSERT_FALSE(stores.is_due());
  stores.count(size_t(2) << 20);
  EXPECT_TRUE(stores.is_due());
}

// A measurement makes a rank wait for its stores.
TEST(SharedStores, MeasureSeldomWhileAllSayTheSame) {
  const auto until_due = [](SharedStores& stores) {
    int flags = 1;
    while (!stores.is_due()) flags++;
    return flags;
  };
  SharedStores stores;
  for (double times : {0.3, 1.2}) {
    update(stores, times, 8);
    EXPECT_GE(until_due(stores), 48);
    update(stores, 1.5 - times, 1);
    EXPECT_LE(until_due(stores), 16);
  }
}

}  // namespace
}  // namespace coll::mem
