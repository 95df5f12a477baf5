// SPDX-License-Identifier: BSD-3-Clause
// The registry: names, texts, lookups, and what an entry promises about the form of its plans.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "requests.h"

namespace coll::algo {
namespace {

using plan::Collective;

TEST(Registry, NamesAreUniquePerCollective) {
  std::set<std::string> seen;
  for (const Algorithm& algorithm : algorithms()) {
    const std::string full = std::string(plan::name(algorithm.collective)) + " " + std::string(algorithm.name);
    EXPECT_TRUE(seen.insert(full).second) << full;
  }
}

TEST(Registry, EveryEntryIsComplete) {
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_FALSE(algorithm.name.empty());
    EXPECT_FALSE(algorithm.summary.empty()) << algorithm.name;
    EXPECT_FALSE(algorithm.source.empty()) << algorithm.name;
    EXPECT_EQ(algorithm.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos)
        << algorithm.name;
    EXPECT_NE(algorithm.applies, nullptr) << algorithm.name;
    EXPECT_NE(algorithm.make, nullptr) << algorithm.name;
  }
}

TEST(Registry, FindsRegisteredNamesOnly) {
  for (const Algorithm& algorithm : algorithms()) EXPECT_EQ(find(algorithm.collective, algorithm.name), &algorithm);
  EXPECT_EQ(find(Collective::barrier, "fused"), nullptr);
  EXPECT_EQ(find(Collective::allreduce, ""), nullptr);
  EXPECT_EQ(find(Collective::allreduce, "Fused"), nullptr);
}

TEST(Registry, HasTheAlgorithmsOfThePapers) {
  const std::pair<Collective, std::vector<const char*>> expected[] = {
      {Collective::barrier, {"flat", "dissemination", "hierarchical", "grouped"}},
      {Collective::bcast,
       {"flat_read", "sequential_write", "push_pull", "knomial", "hierarchical", "grouped", "shm_pipelined",
        "scatter_allgather", "scatter_allgather_ring", "scatter_allgather_doubling"}},
      {Collective::scatter, {"parallel_read", "sequential_write", "throttled_read", "hierarchical", "grouped"}},
      {Collective::gather, {"parallel_write", "sequential_read", "throttled_write", "hierarchical", "grouped"}},
      {Collective::reduce,
       {"flat", "hierarchical", "hierarchical_by_index", "rg", "fused", "movement_avoiding", "movement_avoiding_socket",
        "in_order_tree", "dpml", "dpml_two_level", "grouped"}},
      {Collective::allreduce,
       {"all_read", "recursive_doubling", "hierarchical", "hierarchical_by_index", "rg", "fused",
        "shared_address_space", "movement_avoiding", "movement_avoiding_socket", "in_order_tree", "dpml",
        "dpml_two_level", "ring", "rabenseifner", "grouped"}},
      {Collective::reduce_scatter,
       {"fused", "movement_avoiding", "movement_avoiding_socket", "in_order_tree", "dpml", "dpml_two_level", "ring",
        "rabenseifner", "grouped"}},
      {Collective::allgather,
       {"ring_source_read", "ring_source_write", "ring_neighbor", "recursive_doubling", "bruck", "gather_bcast",
        "shm_pipelined", "hierarchical", "grouped"}},
      {Collective::alltoall, {"pairwise", "bruck", "rotated", "grouped"}},
      {Collective::scan, {"all_read", "sklansky", "fused", "grouped"}},
      {Collective::exscan, {"all_read", "sklansky", "fused", "grouped"}}};
  for (const auto& [collective, names] : expected)
    for (const char* name : names) EXPECT_NE(find(collective, name), nullptr) << plan::name(collective) << " " << name;
}

TEST(Registry, PlansHaveTheNameOfTheirAlgorithm) {
  const topo::Hierarchy hierarchy = testing::machine(12, 2, 2, 3);
  for (int ranks : {1, 12})
    for (const Algorithm& algorithm : algorithms()) {
      const topo::Hierarchy flat = topo::Hierarchy::flat(ranks);
      const plan::Plan plan = algorithm.make({.hierarchy = ranks == 1 ? &flat : &hierarchy});
      EXPECT_EQ(plan.algorithm, algorithm.name);
      EXPECT_EQ(plan.collective, algorithm.collective);
      EXPECT_EQ(plan.ranks, ranks);
    }
}

// If the machine has no groups, hierarchical algorithms report that they do not apply.
TEST(Registry, HierarchicalFormsApplyToHierarchies) {
  const topo::Hierarchy deep = testing::machine(12, 2, 2, 3), flat = topo::Hierarchy::flat(12);
  for (const Algorithm& algorithm : algorithms()) {
    if (is_reduction(algorithm.collective) && algorithm.name == "grouped") continue;
    EXPECT_TRUE(algorithm.applies({.hierarchy = &deep})) << algorithm.name;
    EXPECT_EQ(algorithm.applies({.hierarchy = &flat}), !algorithm.reads.hierarchy) << algorithm.name;
  }
}

// With any hierarchy.
TEST(Registry, GroupedReductionsApplyToMoreRanksThanAGroupHas) {
  const topo::Hierarchy deep = testing::machine(16, 2, 2, 4), few = topo::Hierarchy::flat(16);
  const topo::Hierarchy large = testing::machine(17, 2, 2, 5), many = topo::Hierarchy::flat(17);
  int found = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (!is_reduction(algorithm.collective) || algorithm.name != "grouped") continue;
    ++found;
    for (const topo::Hierarchy* ranks : {&deep, &few}) EXPECT_FALSE(algorithm.applies({.hierarchy = ranks}));
    for (const topo::Hierarchy* ranks : {&large, &many}) EXPECT_TRUE(algorithm.applies({.hierarchy = ranks}));
  }
  EXPECT_EQ(found, 5);
}

}  // namespace
}  // namespace coll::algo
