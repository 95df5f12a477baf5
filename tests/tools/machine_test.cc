// SPDX-License-Identifier: BSD-3-Clause
// What collctl says a communicator asks on a machine: of this system only where that machine is the running one.
#include "tools/common/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "mem/huge_pages.h"

namespace coll::tools {
namespace {

bool has_huge_pages(const ModelMachine& machine) {
  return question_of(machine, plan::Collective::alltoall, 4 << 20, 4).huge_pages;
}

TEST(Machine, HasTheHugePagesOfThisSystemWhenItIsTheRunningOne) {
  ASSERT_EQ(unsetenv("COLL_HUGE_PAGES"), 0);
  ModelMachine machine = model_machine("broadwell", 2, "core", "");
  machine.running = true;
  EXPECT_EQ(has_huge_pages(machine), mem::HugePages::are_to_be_had());
  machine.running = false;
  EXPECT_FALSE(has_huge_pages(machine));
}

TEST(Machine, HasNoneWhereTheyAreSwitchedOff) {
  if (!mem::HugePages::are_to_be_had()) GTEST_SKIP() << "this system has no huge pages of 2 MiB on demand";
  ModelMachine machine = model_machine("broadwell", 2, "core", "");
  machine.running = true;
  ASSERT_EQ(setenv("COLL_HUGE_PAGES", "on", 1), 0);
  EXPECT_TRUE(has_huge_pages(machine));
  ASSERT_EQ(setenv("COLL_HUGE_PAGES", "off", 1), 0);
  EXPECT_FALSE(has_huge_pages(machine));
  unsetenv("COLL_HUGE_PAGES");
}

}  // namespace
}  // namespace coll::tools
