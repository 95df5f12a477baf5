// SPDX-License-Identifier: BSD-3-Clause
// The kernel module as lib/exec uses it: regions found again, windows, batches. Runs with the module in a virtual
// machine (kcoll_in_vm.sh), where it must not be skipped. Owner and peer are one process, which the module treats like
// any other peer.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <vector>

#include "transport/kcoll_map.h"
#include "transport/kcoll_uring.h"

using namespace coll::transport;

namespace {

constexpr size_t page = 4096, pages = 100;

class KcollAccesses : public testing::Test {
 protected:
  void SetUp() override {
    KcollStatus status;
    device_ = KcollDevice::open(status);
    if (status == KcollStatus::absent && getenv("KCOLL_VM") == nullptr) GTEST_SKIP() << kcoll_hint(status);
    ASSERT_EQ(status, KcollStatus::ok) << kcoll_hint(status);
    void* memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    memory_ = static_cast<char*>(memory);
    for (size_t i = 0; i < pages; i++) memset(memory_ + i * page, int(i + 1), page);
  }
  void TearDown() override {
    if (memory_ != nullptr) munmap(memory_, pages * page);
  }

  std::shared_ptr<KcollDevice> device_;
  char* memory_ = nullptr;
};

TEST_F(KcollAccesses, RegionsAreFoundAgainByAddress) {
  KcollRegions regions(device_, false);
  Announced at, again;
  Hold hold;
  ASSERT_EQ(regions.find(memory_ + 100, 5000, false, at, hold), KcollStatus::ok);
  EXPECT_EQ(at.place, 100u);
  ASSERT_EQ(regions.find(memory_ + 200, 8, false, again, hold), KcollStatus::ok);
  EXPECT_EQ(again.region, at.region);
  EXPECT_EQ(again.place, 200u);
  EXPECT_EQ(regions.registered(), 1u);

  // First with more rights, then longer: each new region replaces those that it includes.
  ASSERT_EQ(regions.find(memory_ + 100, 5000, true, again, hold), KcollStatus::ok);
  EXPECT_NE(again.region, at.region);
  ASSERT_EQ(regions.find(memory_, 10 * page, true, at, hold), KcollStatus::ok);
  EXPECT_EQ(regions.kept(), 1u);
  ASSERT_EQ(regions.find(memory_ + 9 * page, page, false, again, hold), KcollStatus::ok);
  EXPECT_EQ(again.region, at.region);
  EXPECT_EQ(regions.registered(), 3u);
  // A read-only region must not be written through.
  ASSERT_EQ(regions.find(memory_ + 20 * page, page, false, again, hold), KcollStatus::ok);
  EXPECT_EQ(device_->write(again.region, 0, "x", 1), KcollStatus::no_permission);
}

TEST_F(KcollAccesses, RegionsAreBoundedAndHeldOnesStay) {
  KcollRegions regions(device_, false);
  Announced first, at;
  Hold held, hold;
  ASSERT_EQ(regions.find(memory_, page, false, first, held), KcollStatus::ok);
  for (size_t i = 1; i < pages; i++)
    ASSERT_EQ(regions.find(memory_ + i * page, page, false, at, hold), KcollStatus::ok);
  EXPECT_EQ(regions.kept(), KcollRegions::most_regions);
  char byte = 0;
  EXPECT_EQ(device_->read(first.region, 0, &byte, 1), KcollStatus::ok);
  EXPECT_EQ(byte, 1);
  held = nullptr;
  EXPECT_EQ(device_->read(first.region, 0, &byte, 1), KcollStatus::gone);
}

TEST_F(KcollAccesses, MemoryThatCannotBeRegisteredIsReported) {
  KcollCopy access(device_);
  Announced at;
  Hold hold;
  EXPECT_FALSE(access.offer(reinterpret_cast<void*>(~uintptr_t(0) - page), 2 * page, false, at, hold));
  EXPECT_EQ(hold, nullptr);
  EXPECT_EQ(access.regions().kept(), 0u);
}

TEST_F(KcollAccesses, WindowsAreKeptBoundedAndFollowTheOwner) {
  KcollMap access(device_, 1);
  std::vector<Announced> at(pages);
  std::vector<Hold> holds(pages);
  for (size_t i = 0; i < 2 * KcollMap::most_mappings; i++) {
    ASSERT_TRUE(access.offer(memory_ + i * page + 8, page - 8, true, at[i], holds[i]));
    EXPECT_TRUE(at[i].mappable);
    Hold mapped;
    Window window = access.map(0, at[i], false, mapped);
    ASSERT_NE(window.data, nullptr);
    EXPECT_EQ(window.data[0], char(i + 1));
  }
  EXPECT_EQ(access.kept(0), KcollMap::most_mappings);
  EXPECT_EQ(access.mapped(), 2 * KcollMap::most_mappings);

  const size_t last = 2 * KcollMap::most_mappings - 1;
  Hold mapped;
  Window window = access.map(0, at[last], false, mapped);
  EXPECT_EQ(access.mapped(), 2 * KcollMap::most_mappings) << "mapped once more";
  window = access.map(0, at[last], true, mapped);
  EXPECT_EQ(access.mapped(), 2 * KcollMap::most_mappings + 1) << "it can be written now";
  window.data[0] = 'w';
  Window::fence();
  EXPECT_TRUE(window.current());
  EXPECT_EQ(memory_[last * page + 8], 'w');

  ASSERT_EQ(madvise(memory_ + last * page, page, MADV_DONTNEED), 0);
  memory_[last * page + 8] = 'n';
  EXPECT_FALSE(window.current());
  window = access.map(0, at[last], true, mapped);
  EXPECT_EQ(window.data[0], 'n');
  EXPECT_TRUE(window.current());

  // Unmapped memory causes no signal, and the window reports it.
  ASSERT_EQ(munmap(memory_ + last * page, page), 0);
  window = access.map(0, at[last], true, mapped);
  ASSERT_NE(window.data, nullptr);
  *const_cast<volatile char*>(window.data) = 'x';
  Window::fence();
  EXPECT_FALSE(window.current());
  char byte;
  EXPECT_EQ(access.read(0, at[last], 0, &byte, 1), EFAULT);
}

TEST_F(KcollAccesses, ABatchReportsEachCopy) {
  KcollStatus status;
  auto access = KcollUring::make(device_, true, status);
  ASSERT_NE(access, nullptr) << kcoll_hint(status);
  Announced at;
  Hold hold;
  ASSERT_TRUE(access->offer(memory_, 90 * page, true, at, hold));
  std::vector<char> here(60 * page, 'h');
  std::vector<Transfer> batch;
  for (size_t i = 0; i < 5; i++)
    batch.push_back({i == 4, 0, at, i * 10 * page + i, here.data() + i * 10 * page, 10 * page - 10, 0});
  batch[2].offset = 95 * page;  // beyond the end
  EXPECT_EQ(access->transfer(batch.data(), batch.size()), ERANGE);
  for (size_t i = 0; i < 5; i++) EXPECT_EQ(batch[i].error, i == 2 ? ERANGE : 0) << i;
  EXPECT_EQ(access->submissions(), 1u);
  EXPECT_EQ(access->submitted(), 5u);
  for (size_t i : {0, 1, 3})
    EXPECT_EQ(memcmp(here.data() + i * 10 * page, memory_ + i * 10 * page + i, 10 * page - 10), 0);
  EXPECT_EQ(memory_[40 * page + 4], 'h');

  // More than a ring holds.
  batch.assign(150, {false, 0, at, 0, nullptr, 100, 0});
  for (size_t i = 0; i < batch.size(); i++) batch[i].local = here.data() + i * 100, batch[i].offset = i * page / 2;
  EXPECT_EQ(access->transfer(batch.data(), batch.size()), 0);
  for (size_t i = 0; i < 80; i++) EXPECT_EQ(here[i * 100], char(i / 2 + 1)) << i;
}

}  // namespace
