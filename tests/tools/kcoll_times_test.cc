// SPDX-License-Identifier: BSD-3-Clause
// The counters of the module, which any process may read, and its tracepoints, which only root may, give the same times
// for the same copies. Runs in a virtual machine (calibrate_in_vm.py).
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "tools/calibrate/probes/kcoll_times.h"
#include "tools/calibrate/probes/kcoll_trace.h"
#include "transport/kcoll_device.h"

using namespace coll::tools;
using coll::transport::KcollDevice;
using coll::transport::KcollDirection;
using coll::transport::KcollPinning;
using coll::transport::KcollStatus;

namespace {

constexpr size_t bytes = 256 << 10;
constexpr int readers = 3;

// Memory without pinned pages, read by several processes at once, twice: first touch, then pinned.
void read_by_several(KcollDevice& device) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, bytes);
  uint64_t cookie = 0;
  ASSERT_EQ(device.register_region(memory, bytes, KcollDirection::read, KcollPinning::lazy, cookie), KcollStatus::ok);
  for (int reader = 0; reader < readers; ++reader)
    if (fork() == 0) {
      KcollStatus status;
      auto own = KcollDevice::open(status);
      if (own == nullptr || own->join_user() != KcollStatus::ok) _exit(1);
      own->measure_times(true);
      std::vector<char> here(bytes);
      for (int turn = 0; turn < 2; ++turn)
        if (own->read(cookie, 0, here.data(), bytes) != KcollStatus::ok || here[bytes - 1] != 1) _exit(1);
      _exit(0);
    }
  for (int reader = 0; reader < readers; ++reader) {
    int status = 1;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  device.unregister_region(cookie);
  munmap(memory, bytes);
}

TEST(KcollTimes, AreTheSameByCountersAndByTracepoints) {
  KcollStatus status;
  auto device = KcollDevice::open(status);
  if (device == nullptr) GTEST_SKIP() << coll::transport::kcoll_hint(status);
  ASSERT_EQ(device->join_user(), KcollStatus::ok);
  std::string problem;
  const auto tracepoints = watch_kcoll_tracepoints(problem);
  if (tracepoints == nullptr) GTEST_SKIP() << problem;
  const auto counters = KcollWatch::by_counters(problem);
  ASSERT_NE(counters, nullptr) << problem;
  for (int turn = 0; turn < 10; ++turn) read_by_several(*device);
  const KcollTimes traced = tracepoints->stop(), counted = counters->stop();

  EXPECT_EQ(traced.source, "tracepoints");
  EXPECT_EQ(counted.source, "counters");
  EXPECT_EQ(traced.lost, 0u);
  EXPECT_EQ(traced.copies, size_t(10 * 2 * readers));
  EXPECT_EQ(traced.copied_bytes, traced.copies * bytes);
  EXPECT_EQ(traced.pages, 10 * bytes / 4096);
  EXPECT_EQ(counted.copies, traced.copies);
  EXPECT_EQ(counted.copied_bytes, traced.copied_bytes);
  EXPECT_EQ(counted.pins, traced.pins);
  EXPECT_EQ(counted.pages, traced.pages);
  const struct {
    const char* name;
    double traced, counted;
  } times[] = {{"total", traced.total_us, counted.total_us}, {"copy", traced.copy_us, counted.copy_us},
               {"wait", traced.wait_us, counted.wait_us},    {"throttle", traced.throttle_us, counted.throttle_us},
               {"lock", traced.lock_us, counted.lock_us},    {"pin", traced.pin_us, counted.pin_us}};
  for (const auto& [name, by_trace, by_count] : times) EXPECT_NEAR(by_trace, by_count, 0.01 * by_count + 1) << name;
  // Counters have classes by number of tasks: up to that many, and more than half as many.
  std::map<int, KcollTimes::Concurrent> classes;
  for (const auto& [tasks, concurrent] : traced.by_concurrency) {
    KcollTimes::Concurrent& of = classes[int(std::bit_ceil(unsigned(tasks)))];
    of.pages += concurrent.pages;
    of.us += concurrent.us;
  }
  EXPECT_EQ(counted.by_concurrency.size(), classes.size());
  for (const auto& [tasks, concurrent] : classes) {
    ASSERT_TRUE(counted.by_concurrency.contains(tasks)) << tasks;
    EXPECT_EQ(counted.by_concurrency.at(tasks).pages, concurrent.pages) << tasks;
    EXPECT_NEAR(counted.by_concurrency.at(tasks).us, concurrent.us, 0.01 * concurrent.us + 1) << tasks;
  }
  EXPECT_GT(traced.copy_us, 0);
  EXPECT_GT(traced.pin_us, 0);
}

}  // namespace
