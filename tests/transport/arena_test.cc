// SPDX-License-Identifier: BSD-3-Clause
#include "transport/arena.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "../seed.h"

using coll::transport::Arena;

namespace {

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

TEST(Arena, RefusesWhatItDidNotGive) {
  int here = 0;
  void* memory = arena().allocate(256);
  EXPECT_FALSE(arena().free(&here));
  EXPECT_FALSE(arena().free(static_cast<char*>(memory) + 64));
  EXPECT_TRUE(arena().free(memory));
  EXPECT_FALSE(arena().free(memory));
  EXPECT_EQ(arena().allocate(arena().bytes() + 1), nullptr);
  EXPECT_FALSE(arena().contains(arena().base() + arena().bytes() - 4, 5));
  EXPECT_FALSE(arena().contains(arena().base(), SIZE_MAX));
}

// Random use against a model: nothing overlaps, all memory comes zeroed, and in the end nothing is held.
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
  // Pages whose parts were freed one by one may stay.
  EXPECT_LE(bytes_in_use(), before + (size_t(4) << 20));
  // All holes have merged: the largest possible piece can be had again.
  void* large = arena().allocate(arena().bytes() - (size_t(4) << 20));
  EXPECT_NE(large, nullptr);
  EXPECT_TRUE(arena().free(large));
}

}  // namespace
