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
  EXPECT_TRUE(stores.stream(large));  // three of eight: undecided
  update(stores, 0.4, 1);
  EXPECT_FALSE(stores.stream(large));
  update(stores, 1.2, 4);
  EXPECT_FALSE(stores.stream(large));
  update(stores, 1.2, 1);
  EXPECT_TRUE(stores.stream(large));
}

TEST(SharedStores, FlagsThatNoCoreHasReadProveNothing) {
  SharedStores stores;
  update(stores, 1.2, 8);
  update(stores, 0.05, 100);
  EXPECT_TRUE(stores.stream(large));
}

// Equal calls store equally many flags: another flag of theirs must be measured, too.
TEST(SharedStores, AfterAnUnreadFlagAnotherIsMeasuredSooner) {
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

TEST(SharedStores, FollowTheSetting) {
  SharedStores stores;
  stores.pin(true);
  update(stores, 0.3, 20);
  EXPECT_TRUE(stores.stream(large));
  stores.pin(false);
  update(stores, 1.2, 20);
  EXPECT_FALSE(stores.stream(large));
}

TEST(SharedStores, RareInterruptsChangeNothing) {
  SharedStores stores;
  for (int i = 0; i < 100; i++) {
    stores.update(50);
    update(stores, 0.3, 3);
    EXPECT_FALSE(stores.stream(large));
  }
}

#if !defined(__x86_64__)
// Such a measurement costs a rank some hundreds of nanoseconds and proves nothing.
TEST(SharedStores, AreMeasuredOnceWhereMemoryCannotBeTimed) {
  SharedStores stores;
  std::atomic<uint64_t> flag = 41;
  while (!stores.is_due()) {}
  stores.measure(flag);
  for (int i = 0; i < 1000; i++) ASSERT_FALSE(stores.is_due()) << i;
  EXPECT_EQ(flag, 41u);
  EXPECT_FALSE(stores.stream(large));
}
#else
TEST(SharedStores, MeasurePeriodicallyAndKeepTheFlag) {
  SharedStores stores;
  std::atomic<uint64_t> flag = 41;
  // Measurements are 6 to 12 flags apart if they prove nothing, as here, but an interrupt or an instrumented build may
  // make the flag look like one that a peer has read: then they are 16 or 64 flags apart.
  std::set<int> flags_later;
  int measured = 0, as_if_read = 0;  // as_if_read: number of flags after the latter
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
  EXPECT_FALSE(stores.stream(large));  // no other core reads it
}

// Stores of staged data just before the flag may still wait for their lines, which must not count for the flag.
TEST(SharedStores, DoNotMeasureTheStoresBeforeTheFlag) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "an atomic access takes as long as a load from memory under ThreadSanitizer";
#endif
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

// The measurement must fetch the line of the flag, which an optimizer may consider unnecessary.
TEST(SharedStores, MeasureAFlagInNoCacheAsFar) {
  SharedStores stores;
  // In the middle of pages that nothing else uses; otherwise a prefetcher would fetch the line of the flag together
  // with its neighbours.
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
TEST(SharedStores, MeasureSeldomWhileAllAgree) {
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

std::vector<char> numbered(size_t bytes, int first) {
  std::vector<char> data(bytes);
  for (size_t i = 0; i < bytes; i++) data[i] = char(int(i) * 7 + first);
  return data;
}

TEST(SharedStores, WriteTheSameWithEveryKindOfStore) {
  for (const bool streams : {false, true})
    for (const size_t bytes : {size_t(1), size_t(4095), size_t(4096), size_t(10'001), size_t(70'000)}) {
      SharedStores stores;
      stores.pin(streams);
      const std::vector<char> source = numbered(bytes, 1);
      std::vector<char> shared(bytes), both(bytes), own(bytes), in_place = source;
      stores.write(shared.data(), source.data(), bytes);
      stores.write(both.data(), own.data(), source.data(), bytes);
      EXPECT_EQ(shared, source) << bytes;
      EXPECT_EQ(both, source) << bytes;
      EXPECT_EQ(own, source) << bytes;
      std::ranges::fill(shared, 0);
      stores.write(shared.data(), in_place.data(), in_place.data(), bytes);
      EXPECT_EQ(shared, source) << bytes;
      EXPECT_EQ(in_place, source) << bytes;
    }
}

// Sums `element_bytes` numbers at a time, so an element that is divided gives a wrong count.
TEST(SharedStores, ReduceTheSameWithEveryKindOfStore) {
  for (const bool streams : {false, true})
    for (const size_t element_bytes : {size_t(1), size_t(24), size_t(9000)})
      for (const bool in_place : {false, true}) {
        SharedStores stores;
        stores.pin(streams);
        const size_t elements = 40'000 / element_bytes, bytes = elements * element_bytes;
        const std::vector<char> left = numbered(bytes, 1), right = numbered(bytes, 5);
        std::vector<char> expected(bytes);
        for (size_t i = 0; i < bytes; i++) expected[i] = char(left[i] + right[i]);
        size_t combined = 0;
        const auto sum = [&](char* first, char* second, const void* const* sources, size_t count) {
          combined += count;
          for (size_t i = 0; i < count * element_bytes; i++) {
            first[i] = char(static_cast<const char*>(sources[0])[i] + static_cast<const char*>(sources[1])[i]);
            if (second != nullptr) second[i] = first[i];
          }
        };
        for (const bool keeps : {false, true}) {
          std::vector<char> shared = in_place ? left : std::vector<char>(bytes), own(bytes);
          const void* sources[] = {in_place ? shared.data() : left.data(), right.data()};
          combined = 0;
          stores.reduce(shared.data(), keeps ? own.data() : nullptr, sources, 2, elements, element_bytes, sum);
          EXPECT_EQ(shared, expected) << element_bytes << streams << in_place << keeps;
          EXPECT_EQ(own, keeps ? expected : std::vector<char>(bytes)) << element_bytes << streams << in_place;
          EXPECT_EQ(combined, elements);
        }
      }
}

}  // namespace
}  // namespace coll::mem
