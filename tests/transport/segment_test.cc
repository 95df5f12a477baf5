// SPDX-License-Identifier: BSD-3-Clause
// The pages of a segment are on the NUMA node of the process that writes to them first.
#include "transport/segment.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "../child.h"
#include "transport/shared_file.h"

namespace {

using coll::test::in_child;
using coll::transport::page_bytes;
using coll::transport::Segment;

// -1: the kernel does not report it.
int policy_at(const char* address) {
  int policy = -1;
  return syscall(SYS_get_mempolicy, &policy, nullptr, 0, address, MPOL_F_ADDR) == 0 ? policy : -1;
}

int node_of(char* page) {
  void* pages[] = {page};
  int node = -1;
  return syscall(SYS_move_pages, 0, 1, pages, nullptr, &node, 0) == 0 ? node : -1;
}

// A processor of each NUMA node on which this process may run.
std::map<int, int> processors_by_node() {
  std::map<int, int> processors;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    for (int node = 0; node < 64 && CPU_ISSET(size_t(cpu), &allowed); node++)
      if (std::filesystem::exists("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/node" + std::to_string(node)))
        processors.emplace(node, cpu);
  return processors;
}

TEST(Segment, HasAPolicyIndependentOfItsProcesses) {
  if (policy_at(nullptr) == -1 && errno == ENOSYS) GTEST_SKIP() << "this kernel has no NUMA policies";
  const unsigned long first_node = 1;
  if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &first_node, 64) != 0)
    GTEST_SKIP() << "NUMA policies cannot be set here: " << strerror(errno);
  std::string problem;
  const std::shared_ptr<Segment> segment = Segment::make(64 * page_bytes(), problem);
  ASSERT_NE(segment, nullptr) << problem;
  char* const middle = segment->base() + 40 * page_bytes();
  EXPECT_EQ(policy_at(middle), MPOL_LOCAL);
  const auto address = segment->address();
  EXPECT_EQ(in_child([&] {
              const std::shared_ptr<Segment> reached = Segment::reach(address, problem);
              CHILD_CHECK(reached != nullptr);
              CHILD_CHECK(policy_at(reached->base() + 40 * page_bytes()) == MPOL_LOCAL);
              return 0;
            }),
            0);
  syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
}

TEST(Segment, IsCommittedWhereItIsWrittenFirst) {
  const std::map<int, int> processors = processors_by_node();
  if (processors.size() < 2) GTEST_SKIP() << "this machine, or what is allowed of it, has one NUMA node";
  std::string problem;
  const std::shared_ptr<Segment> segment = Segment::make(64 * page_bytes(), problem);
  ASSERT_NE(segment, nullptr) << problem;
  char* page = segment->base() + page_bytes();
  const auto address = segment->address();
  for (const auto& [node, cpu] : processors) {
    page += page_bytes();
    const ptrdiff_t offset = page - segment->base();
    const int failed = in_child([&, cpu = cpu] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(size_t(cpu), &one);
      const std::shared_ptr<Segment> reached = Segment::reach(address, problem);
      CHILD_CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
      CHILD_CHECK(reached != nullptr);
      reached->base()[offset] = 1;
      return 0;
    });
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(*page, 1);
    EXPECT_EQ(node_of(page), node);
  }
}

}  // namespace
