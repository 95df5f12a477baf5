// SPDX-License-Identifier: BSD-3-Clause
// A kernel that accepts MADV_REMOVE and does nothing, like gVisor and user-mode emulators.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "transport/arena.h"

static int removals = 0;

// Takes the place of the C library's function, in the linked library as well.
extern "C" int madvise(void* memory, size_t bytes, int advice) noexcept {
  if (advice != MADV_REMOVE) return int(syscall(SYS_madvise, memory, bytes, advice));
  ++removals;
  return 0;
}

namespace {

TEST(InertKernel, FreedMemoryIsZeroWhenItIsAllocatedAgain) {
  std::string problem;
  coll::transport::Arena* arena = coll::transport::Arena::own(problem);
  ASSERT_NE(arena, nullptr) << problem;
  // Less than a page, less than a huge page, more than one.
  for (const size_t bytes : {size_t(100), size_t(5000), size_t(3) << 20}) {
    char* memory = static_cast<char*>(arena->allocate(bytes));
    ASSERT_NE(memory, nullptr);
    memset(memory, 7, bytes);
    ASSERT_TRUE(arena->free(memory));
    char* again = static_cast<char*>(arena->allocate(bytes));
    ASSERT_EQ(again, memory);  // fresh memory would be zero anyway
    EXPECT_TRUE(*again == 0 && memcmp(again, again + 1, bytes - 1) == 0) << bytes;
    ASSERT_TRUE(arena->free(again));
  }
  EXPECT_GT(removals, 0) << "the arena asked the kernel by another function than the one above";
}

}  // namespace
