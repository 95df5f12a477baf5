// SPDX-License-Identifier: BSD-3-Clause
#include <thread>

#include <sched.h>

#include <gmock/gmock.h>

#include "support.h"

namespace coll::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> pus_of(const std::vector<Place> &places) {
  std::vector<int> pus;
  for (const Place &place : places) pus.push_back(place.pu);
  return pus;
}

TEST(Mapping, ByCoreUsesConsecutiveCores) {
  EXPECT_THAT(pus_of(map_ranks(machine_of("package:2 numa:2 core:2"), 6, Mapping::core)),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Mapping, ByNumaGoesRound) {
  EXPECT_THAT(pus_of(map_ranks(machine_of("package:2 numa:2 core:2"), 8, Mapping::numa)),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

TEST(Mapping, ByNumaSkipsFullNodes) {
  // 8 allowed cores in one NUMA node, 4 in the other.
  EXPECT_THAT(pus_of(map_ranks(machine_of("epyc-2p-container.xml"), 12, Mapping::numa)),
              ElementsAre(8, 48, 9, 49, 10, 50, 11, 51, 12, 13, 14, 15));
}

TEST(Mapping, UsesFurtherProcessingUnitsAndThenStartsAgain) {
  const Machine machine = machine_of("core:2 pu:2");  // core 0 has PUs 0 and 1

  EXPECT_THAT(pus_of(map_ranks(machine, 7, Mapping::core)), ElementsAre(0, 2, 1, 3, 0, 2, 1));
}

TEST(Mapping, AcceptsAListOfCpus) {
  const Machine machine = machine_of("package:2 core:2");
  const auto places = map_ranks(machine, 3, std::vector<int>{3, 99});

  EXPECT_EQ(places[0].package, 1);
  EXPECT_TRUE(places[1].unknown()) << "the machine has no CPU 99";
  EXPECT_EQ(places[2], places[0]);
}

TEST(Mapping, HasNames) {
  Mapping by = Mapping::numa;

  EXPECT_TRUE(parse_mapping("core", by).ok());
  EXPECT_EQ(by, Mapping::core);
  EXPECT_TRUE(parse_mapping("numa", by).ok());
  EXPECT_EQ(by, Mapping::numa);
  EXPECT_THAT(parse_mapping("socket", by).text(), HasSubstr("unknown mapping 'socket'; write core or numa"));
}

TEST(Binding, KnowsTheLevelsThatAWideBindingDoesNotCross) {
  const Machine machine = machine_of("package:2 numa:2 l3:1 core:2 pu:2");  // 16 PUs, 8 to a package
  const auto place = [&](std::vector<int> cpus) { return place_of_cpus(machine, cpus); };

  EXPECT_EQ(place({5}), (Place{.package = 0, .numa = 1, .l3 = 1, .core = 2, .pu = 5}));
  EXPECT_EQ(place({4, 5}), (Place{.package = 0, .numa = 1, .l3 = 1, .core = 2}));
  EXPECT_EQ(place({7, 4}), (Place{.package = 0, .numa = 1, .l3 = 1}));
  EXPECT_EQ(place({0, 4}), (Place{.package = 0}));
  EXPECT_EQ(place({0, 8}), Place{});
  EXPECT_EQ(place({9, 77, 200}), place({9})) << "CPUs that the machine lacks do not count";
  EXPECT_EQ(place({}), Place{});
  EXPECT_EQ(place({77}), Place{});
}

TEST(Binding, IsThatOfTheCallingThread) {
  Machine machine;
  ASSERT_TRUE(load_native(machine).ok());
  const std::vector<int> allowed = current_cpus();
  ASSERT_FALSE(allowed.empty());

  Place bound, own = place_of_cpus(machine, std::vector{allowed.back()});
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(allowed.back()), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    bound = current_place(machine);
  }).join();

  EXPECT_EQ(bound, own);
  EXPECT_EQ(bound.pu, allowed.back());
  EXPECT_TRUE(bound.bound());
  EXPECT_EQ(current_cpus(), allowed) << "this thread's binding is as before";
}

}  // namespace
}  // namespace coll::topo
