// SPDX-License-Identifier: BSD-3-Clause
// The situation that collctl derives for a communicator: facts of this system count only if the machine is this one.
#include "tools/common/machine.h"

#include <gtest/gtest.h>

#include "../environment.h"
#include "mem/huge_pages.h"

namespace coll::tools {
namespace {

bool has_huge_pages(const ModelMachine& machine) {
  return situation_on(machine, plan::Collective::alltoall, 4 << 20, 4).huge_pages;
}

TEST(Machine, HasTheHugePagesOfThisSystemWhenItIsTheRunningOne) {
  const test::Environment by_default("COLL_HUGE_PAGES", nullptr);
  ModelMachine machine = model_machine("broadwell", 2, "core", "");
  machine.running = true;
  EXPECT_EQ(has_huge_pages(machine), mem::HugePages::are_to_be_had());
  machine.running = false;
  EXPECT_FALSE(has_huge_pages(machine));
}

TEST(Machine, HasNoHugePagesIfTheyAreSwitchedOff) {
  if (!mem::HugePages::are_to_be_had()) GTEST_SKIP() << "this system has no huge pages of 2 MiB on demand";
  ModelMachine machine = model_machine("broadwell", 2, "core", "");
  machine.running = true;
  const test::Environment on("COLL_HUGE_PAGES", "on");
  EXPECT_TRUE(has_huge_pages(machine));
  const test::Environment off("COLL_HUGE_PAGES", "off");
  EXPECT_FALSE(has_huge_pages(machine));
}

// A communicator uses the cache sizes that hwloc finds, with any table.
TEST(Machine, HasItsOwnCachesAndNotThoseOfTheTableThatPricesIt) {
  ModelMachine machine = model_machine("", 2, "core", "");
  ASSERT_EQ(machine.machine.source, "native");
  for (const uint64_t l2_bytes : {512 << 10, 1 << 20, 2 << 20}) {
    machine.machine.l2.size_bytes = l2_bytes;
    const tune::Situation situation = situation_on(machine, plan::Collective::reduce, 16 << 20, 4);
    EXPECT_EQ(situation.core_cache_bytes, l2_bytes);
    EXPECT_EQ(situation.cache_bytes, topo::available_cache_bytes(machine.machine, machine.hierarchy.places()));
  }
}

TEST(Machine, HasTheCachesOfItsTableWhenItIsAnother) {
  const ModelMachine machine = model_machine("knl", 64, "core", "");
  const tune::Situation situation = situation_on(machine, plan::Collective::reduce, 16 << 20, 4);
  EXPECT_EQ(situation.core_cache_bytes, machine.table.fingerprint.l2_bytes);
  EXPECT_GT(situation.core_cache_bytes, 0u);
  EXPECT_EQ(situation.cache_bytes, model::available_cache_bytes(machine.table, 64));
}

}  // namespace
}  // namespace coll::tools
