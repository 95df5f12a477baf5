// SPDX-License-Identifier: BSD-3-Clause
#include "mem/huge_pages.h"

#include "region.h"

namespace coll::mem {
namespace {

// Regions are static: uses of a freed region would count for the next one at the same address.
class HugePagesTest : public NeedsHugePages {
 protected:
  static void use(const char* memory, size_t bytes, int times) {
    for (int i = 0; i < times; i++) HugePages::use(memory, bytes);
  }
};

TEST_F(HugePagesTest, ComeAfterSomeUsesAndKeepTheContents) {
  constexpr size_t bytes = 4 * huge_page_bytes;
  static Region region(bytes);
  for (size_t i = 0; i < bytes; i++) region.data()[i] = char(i * 7 + i / 4096);
  use(region.data(), bytes, HugePages::uses - 1);
  EXPECT_EQ(region.huge_bytes(), 0u);
  use(region.data(), bytes, 1);
  EXPECT_EQ(region.huge_bytes(), bytes);
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; i++) wrong += region.data()[i] != char(i * 7 + i / 4096);
  EXPECT_EQ(wrong, 0u);
}

TEST_F(HugePagesTest, UsesOfAPageAddUpAcrossBuffers) {
  static Region region(huge_page_bytes);
  for (int i = 0; i < HugePages::uses; i++)
    use(region.data() + size_t(i) * 4096, huge_page_bytes / 2 + size_t(i) * 8192, 1);
  EXPECT_EQ(region.huge_bytes(), huge_page_bytes);
}

TEST_F(HugePagesTest, OnlyWhereABufferCoversAQuarter) {
  static Region region(3 * huge_page_bytes);
  constexpr size_t quarter = huge_page_bytes / 4;
  static_assert(HugePages::least_bytes == quarter);
  use(region.data() + huge_page_bytes - quarter + 1, quarter - 1 + huge_page_bytes + quarter, HugePages::uses);
  EXPECT_EQ(region.huge_bytes(), 2 * huge_page_bytes);
  use(region.data(), HugePages::least_bytes - 1, 2 * HugePages::uses);
  EXPECT_EQ(region.huge_bytes(), 2 * huge_page_bytes);
}

TEST_F(HugePagesTest, AreRequestedAgainForOtherMemoryAtTheAddress) {
  static Region region(huge_page_bytes);
  use(region.data(), huge_page_bytes, HugePages::uses);
  ASSERT_EQ(region.huge_bytes(), huge_page_bytes);
  region.renew();
  use(region.data(), huge_page_bytes, 255);
  EXPECT_EQ(region.huge_bytes(), 0u);
  use(region.data(), huge_page_bytes, 1);
  EXPECT_EQ(region.huge_bytes(), huge_page_bytes);
}

TEST_F(HugePagesTest, NotForMemoryWithAdviceAgainstThem) {
  static Region region(huge_page_bytes);
  madvise(region.data(), huge_page_bytes, MADV_NOHUGEPAGE);
  use(region.data(), huge_page_bytes, 2 * HugePages::uses);
  EXPECT_EQ(region.huge_bytes(), 0u);
}

TEST_F(HugePagesTest, AMappingTooSmallForOneStaysAndOthersStillGetTheirs) {
  constexpr size_t half = huge_page_bytes / 2;
  static Region small(half), other(huge_page_bytes);
  use(small.data(), half, 2 * HugePages::uses);
  EXPECT_EQ(small.huge_bytes(), 0u);
  use(other.data(), huge_page_bytes, HugePages::uses);
  EXPECT_EQ(other.huge_bytes(), huge_page_bytes);
}

TEST(HugePages, NothingIsDoneWithoutMemory) {
  for (int i = 0; i < 2 * HugePages::uses; i++) {
    HugePages::use(nullptr, huge_page_bytes);
    HugePages::use(nullptr, 0);
  }
}

}  // namespace
}  // namespace coll::mem
