// SPDX-License-Identifier: BSD-3-Clause
#include "transport/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "../address_space.h"
#include "../seed.h"

using coll::transport::Arena;

namespace {

constexpr size_t first_extent = size_t(64) << 20;

Arena& arena() {
  std::string problem;
  Arena* own = Arena::own(problem);
  if (own == nullptr) throw std::runtime_error(problem);
  return *own;
}
size_t bytes_in_use() {
  struct stat status {};
  fstat(arena().descriptor(), &status);
  return size_t(status.st_blocks) * 512;
}
bool is_zero(const void* memory, size_t bytes) {
  auto* p = static_cast<const char*>(memory);
  return bytes == 0 || (*p == 0 && memcmp(p, p + 1, bytes - 1) == 0);
}

TEST(Arena, AlignsToWhatIsAllocated) {
  std::pair<size_t, size_t> cases[] = {{1, 64},      {0, 64},         {4095, 64},
                                       {4096, 4096}, {100'000, 4096}, {size_t(2) << 20, size_t(2) << 20}};
  for (auto [bytes, alignment] : cases) {
    void* memory = arena().allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(uintptr_t(memory) % alignment, 0u) << bytes;
    EXPECT_TRUE(arena().contains(memory, bytes));
    EXPECT_TRUE(arena().free(memory));
  }
}

TEST(Arena, RefusesAddressesThatItDidNotAllocate) {
  int here = 0;
  void* memory = arena().allocate(256);
  EXPECT_FALSE(arena().free(&here));
  EXPECT_FALSE(arena().free(static_cast<char*>(memory) + 64));
  EXPECT_TRUE(arena().free(memory));
  EXPECT_FALSE(arena().free(memory));
  EXPECT_EQ(arena().allocate(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(arena().allocate(SIZE_MAX), nullptr);
  EXPECT_FALSE(arena().contains(memory, arena().bytes()));
  EXPECT_FALSE(arena().contains(memory, SIZE_MAX));
}

// Compares random use with a model: blocks do not overlap, memory is zeroed, and finally nothing is allocated.
TEST(Arena, RandomUse) {
  std::mt19937_64 random(coll::test::seed());
  std::map<char*, std::pair<size_t, char>> live;
  size_t before = bytes_in_use();
  for (int step = 0; step < 3000; step++) {
    if (live.empty() || random() % 5 < 3) {
      size_t bytes = size_t(1) << random() % 18;
      bytes += random() % bytes;
      char* memory = static_cast<char*>(arena().allocate(bytes));
      ASSERT_NE(memory, nullptr);
      ASSERT_TRUE(is_zero(memory, bytes)) << "step " << step;
      auto next = live.lower_bound(memory);
      if (next != live.end()) { ASSERT_LE(memory + bytes, next->first); }
      if (next != live.begin()) { ASSERT_LE(std::prev(next)->first + std::prev(next)->second.first, memory); }
      char fill = char(1 + random() % 100);
      memset(memory, fill, bytes);
      live[memory] = {bytes, fill};
    } else {
      auto victim = std::next(live.begin(), long(random() % live.size()));
      auto [memory, what] = *victim;
      for (size_t i = 0; i < what.first; i += 61) ASSERT_EQ(memory[i], what.second);
      ASSERT_TRUE(arena().free(memory));
      live.erase(victim);
    }
  }
  for (auto& [memory, what] : live) ASSERT_TRUE(arena().free(memory));
  // Also pages whose parts were freed one by one.
  EXPECT_LE(bytes_in_use(), before);
  // All holes have merged: the largest possible block can be allocated again, and the arena does not grow.
  before = arena().bytes();
  void* large = arena().allocate(first_extent - (size_t(4) << 20));
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(arena().bytes(), before);
  EXPECT_TRUE(arena().free(large));
}

// Address space grows with allocations, not with the memory of the machine, in few extents.
TEST(Arena, GrowsByExtents) {
  arena();
  const size_t before = coll::test::address_space();
  constexpr size_t large = size_t(40) << 30, small = size_t(10) << 20;
  auto* whole = static_cast<char*>(arena().allocate(large));
  ASSERT_NE(whole, nullptr);
  EXPECT_TRUE(arena().contains(whole, large));
  EXPECT_LE(coll::test::address_space(), before + large + first_extent);
  whole[0] = whole[large - 1] = 1;
  std::vector<char*> all;
  for (int i = 0; i < 100; i++) {
    all.push_back(static_cast<char*>(arena().allocate(small)));
    ASSERT_NE(all.back(), nullptr);
    ASSERT_TRUE(is_zero(all.back(), 1000) && arena().contains(all.back(), small));
    memset(all.back(), i + 1, 1000);
  }
  for (size_t i = 0; i < all.size(); i++)
    for (const char* other : all)
      ASSERT_EQ(*arena().offset_of(other, small) - *arena().offset_of(all[i], small) < small, other == all[i]);
  for (char* memory : all) ASSERT_TRUE(arena().free(memory));
  EXPECT_TRUE(arena().free(whole));
  EXPECT_EQ(bytes_in_use() / (size_t(4) << 20), 0u);
  EXPECT_EQ(arena().allocate(size_t(1) << 61), nullptr);
}

// Locked pages are not returned to the system; memory allocated there again must be zero nevertheless.
TEST(Arena, ClearsPagesThatTheKernelDoesNot) {
  constexpr size_t bytes = 12'288;
  auto* memory = static_cast<char*>(arena().allocate(bytes));
  ASSERT_NE(memory, nullptr);
  memset(memory, 7, bytes);
  if (mlock(memory, bytes) != 0) GTEST_SKIP() << "the limit on locked memory is too low (ulimit -l)";
  ASSERT_TRUE(arena().free(memory));
  auto* again = static_cast<char*>(arena().allocate(bytes));
  ASSERT_EQ(again, memory);
  EXPECT_TRUE(is_zero(again, bytes));
  EXPECT_EQ(munlock(memory, bytes), 0);
  EXPECT_TRUE(arena().free(again));
}

// The program may close descriptors that it did not open, and have a file of its own under the number.
TEST(Arena, LeavesAnotherFileUnderItsDescriptorAlone) {
  const int number = arena().descriptor(), kept = dup(number), other = memfd_create("another", 0);
  ASSERT_EQ(dup2(other, number), number);
  void* memory = arena().allocate(100'000);
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(arena().allocate(2 * arena().bytes()), nullptr);
  memset(memory, 5, 100'000);
  pid_t child = fork();
  if (child == 0) _exit(fcntl(number, F_GETFD) >= 0 ? 0 : 1);
  int result = -1;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  struct stat status {};
  EXPECT_EQ(fstat(other, &status), 0);
  EXPECT_EQ(status.st_size, 0);
  EXPECT_TRUE(arena().free(memory));
  EXPECT_EQ(dup2(kept, number), number);
  EXPECT_EQ(close(kept) + close(other), 0);
  void* large = arena().allocate(2 * arena().bytes());
  EXPECT_NE(large, nullptr);
  EXPECT_TRUE(arena().free(large));
}

}  // namespace
