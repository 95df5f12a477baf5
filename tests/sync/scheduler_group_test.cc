// SPDX-License-Identifier: BSD-3-Clause
#include "sync/scheduler_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace {

using coll::sync::scheduler_group;

// Returns the group of a child, in a session of its own or not.
uint64_t of_child(bool own_session) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  pid_t child = fork();
  if (child == 0) {
    if (own_session) setsid();
    uint64_t group = scheduler_group();
    _exit(write(ends[1], &group, sizeof group) == sizeof group ? 0 : 1);
  }
  close(ends[1]);
  uint64_t group = 0;
  EXPECT_EQ(read(ends[0], &group, sizeof group), ssize_t(sizeof group));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return group;
}

TEST(SchedulerGroup, AChildIsInItsParentsGroup) { EXPECT_EQ(of_child(false), scheduler_group()); }

TEST(SchedulerGroup, ASessionOfItsOwnIsAGroupWhereTheKernelMakesAutogroups) {
  int enabled = 0;
  std::ifstream("/proc/sys/kernel/sched_autogroup_enabled") >> enabled;
  if (enabled == 1) EXPECT_NE(of_child(true), scheduler_group());
  else EXPECT_EQ(of_child(true), scheduler_group());
}

}  // namespace
