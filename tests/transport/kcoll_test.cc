// SPDX-License-Identifier: BSD-3-Clause
// The client of the kernel module. Tests with the device run where the module is loaded: in a virtual machine
// (kcoll_in_vm.sh), where they must not be skipped; the others test the errors without the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "../child.h"
#include "../seed.h"
#include "transport/kcoll_device.h"
#include "transport/kcoll_mapping.h"

using namespace coll::transport;
using coll::test::exit_status_of;
using coll::test::in_child;

namespace {

constexpr size_t page = 4096;
constexpr Token key{{0x1234, 0x5678}}, other_key{{0x1234, 0x5679}};

// ---- without the device ---------------------------------------------------------------------------------------

TEST(KcollStatus, EachHasANameAndAHint) {
  for (int i = 1; i <= int(KcollStatus::failed); ++i) {
    EXPECT_STRNE(name(KcollStatus(i)), "ok");
    EXPECT_GT(kcoll_hint(KcollStatus(i)).size(), 20u) << name(KcollStatus(i));
    for (int j = 1; j < i; ++j) EXPECT_STRNE(name(KcollStatus(i)), name(KcollStatus(j)));
  }
  EXPECT_EQ(kcoll_hint(KcollStatus::ok), "");
  EXPECT_NE(kcoll_hint(KcollStatus::absent).find("modprobe kcoll"), std::string::npos);
}

TEST(KcollAbsent, IsReported) {
  KcollStatus status = KcollStatus::ok;
  EXPECT_EQ(KcollDevice::open(status, "/no/such/device"), nullptr);
  EXPECT_EQ(status, KcollStatus::absent);
}

TEST(KcollAbsent, AForeignDeviceIsNoKcoll) {
  KcollStatus status = KcollStatus::ok;
  EXPECT_EQ(KcollDevice::open(status, "/dev/null"), nullptr);
  EXPECT_EQ(status, KcollStatus::mismatch);
}

TEST(KcollAbsent, ADeviceForOthersIsNoPermission) {
  char path[] = "/tmp/kcoll-device-XXXXXX";
  int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  ASSERT_EQ(chmod(path, 0), 0);
  const int failed = in_child([&] {
    if (geteuid() == 0) CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    KcollStatus status = KcollStatus::ok;
    CHILD_CHECK(KcollDevice::open(status, path) == nullptr);
    CHILD_CHECK(status == KcollStatus::no_permission);
    return 0;
  });
  unlink(path);
  EXPECT_EQ(failed, 0);
}

TEST(KcollAbsent, VersionAndFeaturesAreChecked) {
  kcoll_info info{};
  info.version = KCOLL_VERSION;
  info.features = KCOLL_FEATURE_DOMAIN | KCOLL_FEATURE_MAP | KCOLL_FEATURE_QUIET;
  EXPECT_EQ(KcollDevice::check(info), KcollStatus::ok);
  info.version = KCOLL_VERSION + 1;
  EXPECT_EQ(KcollDevice::check(info), KcollStatus::mismatch);
  info.version = KCOLL_VERSION;
  for (uint64_t without : {KCOLL_FEATURE_DOMAIN, KCOLL_FEATURE_MAP, KCOLL_FEATURE_QUIET}) {
    info.features = (KCOLL_FEATURE_DOMAIN | KCOLL_FEATURE_MAP | KCOLL_FEATURE_QUIET) & ~without;
    EXPECT_EQ(KcollDevice::check(info), KcollStatus::mismatch);
  }
}

// ---- with the device -------------------------------------------------------------------------------------------

// An owner (this process) and a child that accesses its memory, both in one domain.
class Kcoll : public ::testing::Test {
 protected:
  void SetUp() override {
    KcollStatus status;
    device_ = KcollDevice::open(status);
    // scripts/vm/run.sh sets KCOLL_VM.
    if (device_ == nullptr && std::getenv("KCOLL_VM") == nullptr)
      GTEST_SKIP() << "needs the kernel module: " << kcoll_hint(status);
    ASSERT_EQ(status, KcollStatus::ok) << kcoll_hint(status);
    ASSERT_EQ(device_->join(key), KcollStatus::ok);
    memory_ =
        static_cast<unsigned char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    // Children have a copy of the memory; accesses through the module must reach the memory of the parent instead.
    for (size_t i = 0; i < bytes_; ++i) memory_[i] = pattern(i, 1);
  }
  void TearDown() override {
    if (memory_ != nullptr && memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  static unsigned char pattern(size_t i, int seed) {
    return static_cast<unsigned char>(i * 7 + i / page * 13 + size_t(seed));
  }

  uint64_t registered(KcollDirection direction, KcollPinning pinning = KcollPinning::lazy) {
    uint64_t cookie = 0;
    EXPECT_EQ(device_->register_region(memory_, bytes_, direction, pinning, cookie), KcollStatus::ok);
    return cookie;
  }
  // Called in a child: a descriptor of its own that has joined the domain. Ends the child if there is none.
  static std::shared_ptr<KcollDevice> peer_device(const Token& domain = key) {
    KcollStatus status;
    auto device = KcollDevice::open(status);
    if (device == nullptr || device->join(domain) != KcollStatus::ok) {
      fprintf(stderr, "the child cannot join a domain: %s\n", name(status));
      _exit(2);
    }
    return device;
  }

  static constexpr size_t bytes_ = 64 * page;
  std::shared_ptr<KcollDevice> device_;
  unsigned char* memory_ = nullptr;
};

TEST_F(Kcoll, OneDescriptorPerProcess) {
  KcollStatus status = KcollStatus::failed;
  auto first = KcollDevice::own(status);
  ASSERT_EQ(status, KcollStatus::ok);
  status = KcollStatus::failed;
  EXPECT_EQ(KcollDevice::own(status), first);
  EXPECT_EQ(status, KcollStatus::ok);
  EXPECT_TRUE(first->has(KCOLL_FEATURE_COPY2 | KCOLL_FEATURE_BATCH));
  EXPECT_FALSE(first->has(1ULL << 63));
  EXPECT_EQ(in_child([&] {
              KcollStatus status = KcollStatus::failed;
              uint64_t cookie = 0;
              CHILD_CHECK(first->register_region(memory_, page, KcollDirection::read, KcollPinning::lazy, cookie) ==
                          KcollStatus::inherited);
              auto mine = KcollDevice::own(status);
              CHILD_CHECK(status == KcollStatus::ok && mine != first);
              CHILD_CHECK(mine->register_region(memory_, page, KcollDirection::read, KcollPinning::lazy, cookie) ==
                          KcollStatus::ok);
              return 0;
            }),
            0);
}

TEST_F(Kcoll, ADomainIsJoinedOnceAndFirst) {
  EXPECT_EQ(device_->join(key), KcollStatus::ok);
  EXPECT_EQ(device_->join(other_key), KcollStatus::taken);
  KcollStatus status;
  auto late = KcollDevice::open(status);
  uint64_t cookie = 0;
  ASSERT_EQ(late->register_region(memory_, page, KcollDirection::read, KcollPinning::lazy, cookie), KcollStatus::ok);
  EXPECT_EQ(late->join(key), KcollStatus::taken);
}

TEST_F(Kcoll, OtherDomainsDoNotReachARegion) {
  const uint64_t cookie = registered(KcollDirection::both);
  EXPECT_EQ(in_child([&] {
              auto stranger = peer_device(other_key);
              char byte;
              CHILD_CHECK(stranger->read(cookie, 0, &byte, 1) == KcollStatus::gone);
              auto peer = peer_device();
              CHILD_CHECK(peer->read(cookie, 0, &byte, 1) == KcollStatus::ok);
              return 0;
            }),
            0);
}

TEST_F(Kcoll, ProcessesOfOneUserMeetInTheUsersDomainIfTheyJoinIt) {
  KcollStatus status;
  auto shared = KcollDevice::open(status), alone = KcollDevice::open(status);
  ASSERT_EQ(status, KcollStatus::ok);
  ASSERT_EQ(shared->join_user(), KcollStatus::ok);
  EXPECT_EQ(shared->join_user(), KcollStatus::ok);
  EXPECT_EQ(shared->join(key), KcollStatus::taken);
  EXPECT_EQ(device_->join_user(), KcollStatus::taken);
  uint64_t cookie = 0, hidden = 0;
  for (auto [device, named] : {std::pair(shared, &cookie), std::pair(alone, &hidden)})
    ASSERT_EQ(device->register_region(memory_, page, KcollDirection::read, KcollPinning::lazy, *named),
              KcollStatus::ok);
  EXPECT_EQ(in_child([&] {
              KcollStatus status;
              auto peer = KcollDevice::open(status);
              char byte;
              CHILD_CHECK(peer->read(cookie, 0, &byte, 1) == KcollStatus::gone);
              CHILD_CHECK(peer->join_user() == KcollStatus::ok);
              CHILD_CHECK(peer->read(cookie, 0, &byte, 1) == KcollStatus::ok);
              CHILD_CHECK(peer->read(hidden, 0, &byte, 1) == KcollStatus::gone);
              return 0;
            }),
            0);
}

TEST_F(Kcoll, CopiesAnyOffsetAndLengthInBothDirections) {
  const uint64_t cookie = registered(KcollDirection::both);
  EXPECT_EQ(
      in_child([&] {
        auto peer = peer_device();
        // The child's own copy is overwritten: right bytes can only come from the owner.
        memset(memory_, 0xee, bytes_);
        std::mt19937_64 random(coll::test::seed());
        std::vector<unsigned char> here(bytes_);
        for (int turn = 0; turn < 200; ++turn) {
          const size_t offset = random() % bytes_, length = random() % (bytes_ - offset) + 1;
          uint64_t done = 0;
          std::fill(here.begin(), here.end(), 0xdd);
          CHILD_CHECK(peer->read(cookie, offset, here.data(), length, 0, &done) == KcollStatus::ok && done == length);
          for (size_t i = 0; i < length; ++i) CHILD_CHECK(here[i] == pattern(offset + i, 1));
          CHILD_CHECK(length == bytes_ || here[length] == 0xdd);
        }
        unsigned char byte = 0;
        CHILD_CHECK(peer->read(cookie, bytes_, &byte, 1) == KcollStatus::out_of_range);
        CHILD_CHECK(peer->read(cookie, bytes_ - 1, here.data(), 2) == KcollStatus::out_of_range);
        CHILD_CHECK(peer->read(cookie, 0, nullptr, 16) == KcollStatus::bad_address);
        CHILD_CHECK(peer->read(cookie ^ 1, 0, &byte, 1) == KcollStatus::gone);
        for (size_t i = 0; i < 10'000; ++i) here[i] = pattern(i, 77);
        CHILD_CHECK(peer->write(cookie, 3 * page + 5, here.data(), 10'000) == KcollStatus::ok);
        return 0;
      }),
      0);
  EXPECT_EQ(memory_[3 * page + 4], pattern(3 * page + 4, 1));
  for (size_t i = 0; i < 10'000; ++i) ASSERT_EQ(memory_[3 * page + 5 + i], pattern(i, 77)) << i;
  EXPECT_EQ(memory_[3 * page + 10'005], pattern(3 * page + 10'005, 1));
}

TEST_F(Kcoll, DirectionAndUnregisteringAreEnforced) {
  const uint64_t only_read = registered(KcollDirection::read), only_write = registered(KcollDirection::write),
                 ended = registered(KcollDirection::both);
  ASSERT_EQ(device_->unregister_region(ended), KcollStatus::ok);
  EXPECT_EQ(device_->unregister_region(ended), KcollStatus::gone);
  EXPECT_EQ(in_child([&] {
              auto peer = peer_device();
              char bytes[8] = {};
              CHILD_CHECK(peer->write(only_read, 0, bytes, 8) == KcollStatus::no_permission);
              CHILD_CHECK(peer->read(only_write, 0, bytes, 8) == KcollStatus::no_permission);
              CHILD_CHECK(peer->read(ended, 0, bytes, 8) == KcollStatus::gone);
              KcollStatus status;
              CHILD_CHECK(KcollMapping::attach(peer, only_write, 0, 0, KcollDirection::write, status) == nullptr);
              CHILD_CHECK(status == KcollStatus::no_permission);
              CHILD_CHECK(KcollMapping::attach(peer, only_read, 0, 0, KcollDirection::both, status) == nullptr);
              CHILD_CHECK(status == KcollStatus::no_permission);
              CHILD_CHECK(KcollMapping::attach(peer, ended, 0, 0, KcollDirection::read, status) == nullptr);
              CHILD_CHECK(status == KcollStatus::gone);
              return 0;
            }),
            0);
}

TEST_F(Kcoll, AMappingIsTheOwnersMemory) {
  const uint64_t cookie = registered(KcollDirection::both, KcollPinning::eager);
  EXPECT_EQ(in_child([&] {
              auto peer = peer_device();
              memset(memory_, 0xee, bytes_);
              KcollStatus status;
              // Neither end is at a page boundary.
              auto mapping = KcollMapping::attach(peer, cookie, page + 100, 5 * page, KcollDirection::both, status);
              CHILD_CHECK(mapping != nullptr && status == KcollStatus::ok);
              CHILD_CHECK(mapping->region_bytes() == bytes_ && mapping->bytes() == 5 * page);
              for (size_t i = 0; i < mapping->bytes(); ++i)
                CHILD_CHECK(static_cast<unsigned char>(mapping->data()[i]) == pattern(page + 100 + i, 1));
              CHILD_CHECK(mapping->current() && !mapping->dead());
              mapping->data()[17] = 'x';
              CHILD_CHECK(KcollMapping::attach(peer, cookie, bytes_ - page, page + 1, KcollDirection::read, status) ==
                          nullptr);
              CHILD_CHECK(status == KcollStatus::out_of_range);
              return 0;
            }),
            0);
  EXPECT_EQ(memory_[page + 117], 'x');
}

TEST_F(Kcoll, PartsOfPagesCannotBeMapped) {
  uint64_t cookie = 0;
  ASSERT_EQ(device_->register_region(memory_ + 8, 3 * page, KcollDirection::read, KcollPinning::lazy, cookie),
            KcollStatus::ok);
  KcollStatus status;
  EXPECT_EQ(KcollMapping::attach(device_, cookie, 0, 0, KcollDirection::read, status), nullptr);
  EXPECT_EQ(status, KcollStatus::unsuitable);
}

// The child maps, the owner exchanges a page, the child notices, refreshes and sees the new page.
TEST_F(Kcoll, AChangeOfTheOwnersMemoryIsNoticed) {
  const uint64_t cookie = registered(KcollDirection::both, KcollPinning::eager);
  int to_child[2], to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(to_child[1]);  // or the child would wait without end if the parent's test fails
    _exit([&] {
      char word;
      auto peer = peer_device();
      KcollStatus status;
      auto mapping = KcollMapping::attach(peer, cookie, 0, 0, KcollDirection::read, status);
      CHILD_CHECK(mapping != nullptr && mapping->current());
      CHILD_CHECK(static_cast<unsigned char>(mapping->data()[2 * page]) == pattern(2 * page, 1));
      const uint64_t before = mapping->generation();
      CHILD_CHECK(peer->read(cookie, 0, &word, 1, before) == KcollStatus::ok);
      CHILD_CHECK(write(to_parent[1], "m", 1) == 1 && read(to_child[0], &word, 1) == 1);
      CHILD_CHECK(!mapping->current() && !mapping->dead());
      CHILD_CHECK(peer->read(cookie, 0, &word, 1, before) == KcollStatus::stale);
      CHILD_CHECK(mapping->refresh() == KcollStatus::ok && mapping->generation() != before);
      CHILD_CHECK(mapping->data()[2 * page] == 'n' && mapping->current());
      CHILD_CHECK(peer->read(cookie, 2 * page, &word, 1, mapping->generation()) == KcollStatus::ok && word == 'n');
      CHILD_CHECK(write(to_parent[1], "r", 1) == 1 && read(to_child[0], &word, 1) == 1);
      // The region was unregistered meanwhile.
      CHILD_CHECK(!mapping->current() && mapping->dead());
      CHILD_CHECK(mapping->refresh() == KcollStatus::gone);
      return 0;
    }());
  }
  close(to_parent[1]);
  char word;
  if (read(to_parent[0], &word, 1) == 1) {
    ASSERT_EQ(madvise(memory_ + 2 * page, page, MADV_DONTNEED), 0);
    memory_[2 * page] = 'n';
    ASSERT_EQ(write(to_child[1], "c", 1), 1);
  }
  if (read(to_parent[0], &word, 1) == 1) {
    EXPECT_EQ(device_->unregister_region(cookie), KcollStatus::ok);
    ASSERT_EQ(write(to_child[1], "u", 1), 1);
  }
  EXPECT_EQ(exit_status_of(child), 0);
  for (int end : {to_child[0], to_child[1], to_parent[0]}) close(end);
}

TEST_F(Kcoll, ALimitOnLockedMemoryIsReportedAndCopiesWork) {
  EXPECT_EQ(in_child([&] {
              const rlimit small{8 * page, 8 * page};
              CHILD_CHECK(setrlimit(RLIMIT_MEMLOCK, &small) == 0);
              auto device = peer_device();
              // root may exceed the limit, so becomes another user, who may not open the device.
              if (geteuid() == 0) CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
              uint64_t cookie = 0;
              CHILD_CHECK(device->register_region(memory_, bytes_, KcollDirection::read, KcollPinning::eager, cookie) ==
                          KcollStatus::no_allowance);
              CHILD_CHECK(device->register_region(memory_, bytes_, KcollDirection::read, KcollPinning::lazy, cookie) ==
                          KcollStatus::ok);
              std::vector<unsigned char> here(bytes_);
              CHILD_CHECK(device->read(cookie, 0, here.data(), bytes_) == KcollStatus::ok);
              for (size_t i = 0; i < bytes_; ++i) CHILD_CHECK(here[i] == pattern(i, 1));
              kcoll_stats stats;
              CHILD_CHECK(device->stats(stats) == KcollStatus::ok && stats.copies_uncached > 0);
              return 0;
            }),
            0);
}

TEST_F(Kcoll, TheEndOfTheOwnerIsReported) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  EXPECT_EQ(in_child([&] {
              auto own = peer_device();
              uint64_t cookie = 0;
              CHILD_CHECK(own->register_region(memory_, bytes_, KcollDirection::both, KcollPinning::eager, cookie) ==
                          KcollStatus::ok);
              CHILD_CHECK(write(channel[1], &cookie, sizeof cookie) == sizeof cookie);
              return 0;
            }),
            0);
  uint64_t cookie = 0;
  ASSERT_EQ(read(channel[0], &cookie, sizeof cookie), ssize_t(sizeof cookie));
  char byte;
  EXPECT_EQ(device_->read(cookie, 0, &byte, 1), KcollStatus::gone);
  close(channel[0]);
  close(channel[1]);
}

TEST_F(Kcoll, StatisticsCountWhatWasDone) {
  const uint64_t cookie = registered(KcollDirection::both, KcollPinning::eager);
  std::vector<char> here(bytes_);
  ASSERT_EQ(device_->measure_times(true), KcollStatus::ok);
  ASSERT_EQ(device_->read(cookie, 0, here.data(), bytes_), KcollStatus::ok);
  ASSERT_EQ(device_->write(cookie, 0, here.data(), page), KcollStatus::ok);
  kcoll_stats own, all;
  ASSERT_EQ(device_->stats(own), KcollStatus::ok);
  ASSERT_EQ(device_->stats(all, true), KcollStatus::ok);
  EXPECT_EQ(own.copies, 2u);
  EXPECT_EQ(own.bytes_read, bytes_);
  EXPECT_EQ(own.bytes_written, page);
  EXPECT_EQ(own.timed, 2u);
  EXPECT_GT(own.copy_ns, 0u);
  EXPECT_EQ(own.pin_pages, bytes_ / page);
  EXPECT_GE(all.copies, own.copies);
}

}  // namespace
