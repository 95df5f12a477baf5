// SPDX-License-Identifier: BSD-3-Clause
// The groups that result from given places.
#include <gmock/gmock.h>

#include <algorithm>

#include "support.h"

namespace coll::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Place> bound(int ranks, int per_numa, int per_package) {
  std::vector<Place> places;
  for (int rank = 0; rank < ranks; ++rank)
    places.push_back({.package = rank / per_package, .numa = rank / per_numa, .core = rank, .pu = rank});
  return places;
}

std::string shape(std::vector<Place> places, std::string_view sensitivity = "numa,socket") {
  return describe(Hierarchy::from_places(std::move(places), sensitivity_of(sensitivity)));
}

TEST(Hierarchy, FollowsTheSensitivity) {
  const std::string epyc = "epyc-2p.xml";
  const auto of = [&](std::string_view sensitivity) {
    return describe(hierarchy_of(epyc, 64, Mapping::core, sensitivity));
  };

  EXPECT_EQ(of("flat"), "64 ranks, flat");
  EXPECT_EQ(of("socket"), "64 ranks: socket 2 × 32");
  EXPECT_EQ(of("numa"), "64 ranks: numa 8 × 8");
  EXPECT_EQ(of("l3,socket"), "64 ranks: socket 2 × l3 8 × 4");
  EXPECT_EQ(of("core,l2,l3,numa,socket"), "64 ranks: socket 2 × numa 4 × l3 2 × 4");
}

TEST(Hierarchy, OmitsLevelsWithoutGroups) {
  // One NUMA node per socket, one socket, one rank per NUMA node, one rank.
  EXPECT_EQ(shape(bound(8, 4, 4)), "8 ranks: socket 2 × 4");
  EXPECT_EQ(shape(bound(8, 4, 8)), "8 ranks: numa 2 × 4");
  EXPECT_EQ(shape(bound(8, 1, 4)), "8 ranks: socket 2 × 4");
  EXPECT_EQ(shape(bound(2, 1, 1)), "2 ranks, flat");
  EXPECT_EQ(shape(bound(1, 1, 1)), "1 rank, flat");
  EXPECT_EQ(shape(bound(8, 8, 8)), "8 ranks, flat");
}

TEST(Hierarchy, NamesTheLevels) {
  const Hierarchy made = hierarchy_of("epyc-2p.xml", 64, Mapping::core, "l3,numa,socket");

  ASSERT_EQ(made.levels(), 4);
  EXPECT_EQ(made.level_name(0), "l3");
  EXPECT_EQ(made.level_name(1), "numa");
  EXPECT_EQ(made.level_name(2), "socket");
  EXPECT_EQ(made.level_name(3), "node");
  EXPECT_EQ(made.groups(0), 16);
  EXPECT_EQ(made.groups(3), 1);
  EXPECT_THAT(made.ranks_of(0, 1), ElementsAre(4, 5, 6, 7));
}

TEST(Hierarchy, ShowsUnevenGroups) { EXPECT_EQ(shape(bound(7, 2, 4)), "7 ranks: socket 2 × numa 2 × 1-2"); }

TEST(Hierarchy, AcceptsMoreRanksThanCores) {
  const Hierarchy made = hierarchy_of("package:2 core:2", 10, Mapping::core, "socket");

  EXPECT_EQ(describe(made), "10 ranks: socket 2 × 4-6");
  EXPECT_EQ(made.distance(0, 4), Distance::core) << "two ranks on one processing unit are still two";
  EXPECT_EQ(made.distance(4, 4), Distance::self);
}

TEST(Hierarchy, PutsRanksOfUnknownPlaceTogether) {
  std::vector<Place> places = bound(8, 2, 4);
  places[1] = Place{};  // not bound at all
  places[6] = Place{};
  places[3] = Place{.package = 0};  // bound to a socket

  const Hierarchy made = Hierarchy::from_places(places);

  EXPECT_EQ(made.reason(), "");
  ASSERT_EQ(made.level_name(1), "socket");
  EXPECT_EQ(made.groups(1), 3);
  EXPECT_THAT(made.ranks_of(1, 0), ElementsAre(0, 2, 3));
  EXPECT_THAT(made.ranks_of(1, 1), ElementsAre(1, 6));
  EXPECT_THAT(made.ranks_of(1, 2), ElementsAre(4, 5, 7));
  EXPECT_THAT(made.ranks_of(0, 2), ElementsAre(2));
  EXPECT_THAT(made.ranks_of(0, 3), ElementsAre(3));
}

TEST(Hierarchy, IsFlatWithReasonWhenNothingIsKnown) {
  EXPECT_EQ(shape(std::vector<Place>(4)), "4 ranks, flat (the places of the ranks are not known)");
  EXPECT_EQ(shape(std::vector<Place>(4, Place{.package = 0})), "4 ranks, flat (the ranks are not bound to cores)");
  EXPECT_EQ(shape(std::vector<Place>(4, Place{.package = 0, .numa = 0})), "4 ranks, flat") << "there is only one";
  EXPECT_EQ(shape(std::vector<Place>(4), "flat"), "4 ranks, flat");
  EXPECT_EQ(describe(Hierarchy::flat(3)), "3 ranks, flat");
}

TEST(Hierarchy, AcceptsExplicitGroups) {
  const Hierarchy made = Hierarchy::from_places(std::vector<Place>(8), sensitivity_of("0-1,2-3,4-7/0-3,4-7"));

  EXPECT_EQ(describe(made), "8 ranks: list 2 2 × list 1 1-2 × 2-4");
  EXPECT_THAT(made.ranks_of(0, 2), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(shape(std::vector<Place>(8), "0-3,4-7/0-7"), "8 ranks: list 1 2 × 4");
  EXPECT_EQ(shape(std::vector<Place>(4), "0+2,1+3"), "4 ranks: list 1 2 × 2");
}

TEST(Hierarchy, IsFlatWithReasonWhenExplicitGroupsDoNotFit) {
  const Hierarchy made = Hierarchy::from_places(bound(9, 3, 9), sensitivity_of("0-3,4-7"));

  EXPECT_TRUE(made.is_flat());
  EXPECT_THAT(describe(made), HasSubstr("leaves out rank 8 of 9"));
}

TEST(Hierarchy, KnowsWhetherItKeepsRankOrder) {
  EXPECT_TRUE(hierarchy_of("package:2 numa:4 core:8", 64, Mapping::core, "numa,socket").rank_ordered());
  EXPECT_FALSE(hierarchy_of("package:2 numa:4 core:8", 64, Mapping::numa, "numa,socket").rank_ordered());
  EXPECT_TRUE(Hierarchy::flat(5).rank_ordered());
}

TEST(Hierarchy, IsDrawn) {
  EXPECT_EQ(draw(hierarchy_of("package:2 numa:2 core:3", 12, Mapping::core, "numa,socket"), 7),
            "12 ranks: socket 2 × numa 2 × 3\n"
            "  node: leader 7, members 0\n"
            "    socket 0: leader 0, members 3\n"
            "      numa 0: leader 0, members 1 2\n"
            "      numa 1: leader 3, members 4 5\n"
            "    socket 1: leader 7, members 9\n"
            "      numa 2: leader 7, members 6 8\n"
            "      numa 3: leader 9, members 10 11\n");
  EXPECT_EQ(draw(Hierarchy::flat(6)), "6 ranks, flat\n  node: leader 0, members 1-5\n");
  EXPECT_EQ(draw(Hierarchy::flat(1)), "1 rank, flat\n  node: leader 0\n");
}

// ---- small groups -----------------------------------------------------------------------------------------

std::string small(const Hierarchy &of, Counted counted, int most = small_group) {
  std::string text;
  const Hierarchy made = in_small_groups(of, counted, most);
  EXPECT_EQ(made.ranks(), of.ranks());
  EXPECT_EQ(made.places(), of.places());
  const Tree tree = made.tree_for_root(0);
  for (int level = 0; level < made.levels(); ++level) {
    std::size_t least = SIZE_MAX, largest = 0;
    for (int index = 0; index < made.groups(level); ++index) {
      const std::size_t members = tree.group(level, index).members.size();
      least = std::min(least, members), largest = std::max(largest, members);
    }
    text += (level == 0 ? "" : ", ") + std::to_string(made.groups(level)) + " of " + std::to_string(least) +
            (least == largest ? "" : "-" + std::to_string(largest));
  }
  return text;
}

TEST(SmallGroups, AreDomainsIfTheseAreSmallEnough) {
  const Hierarchy epyc = hierarchy_of("epyc-2p.xml", 64, Mapping::core, "numa,socket");
  EXPECT_EQ(small(epyc, Counted::ranks), "8 of 8, 1 of 8");
  EXPECT_EQ(small(epyc, Counted::ranks, 32), "2 of 32, 1 of 2");
  EXPECT_EQ(small(epyc, Counted::ranks, 4), "16 of 4, 8 of 2, 2 of 4, 1 of 2");
}

TEST(SmallGroups, ArePartsOfDomainsThatAreTooLarge) {
  const auto of = [](const char *machine, int ranks) {
    return hierarchy_of(machine, ranks, Mapping::core, "numa,socket");
  };
  EXPECT_EQ(small(of("package:2 numa:4 core:20", 160), Counted::ranks), "16 of 10, 1 of 16");
  EXPECT_EQ(small(of("package:2 core:80", 160), Counted::ranks), "10 of 16, 1 of 10");
  EXPECT_EQ(small(Hierarchy::flat(17), Counted::ranks), "2 of 8-9, 1 of 2");
  EXPECT_EQ(small(Hierarchy::flat(256), Counted::ranks), "16 of 16, 1 of 16");
  EXPECT_EQ(small(Hierarchy::flat(4096), Counted::ranks), "256 of 16, 16 of 16, 1 of 16");
  const Hierarchy flat = in_small_groups(Hierarchy::flat(33), Counted::ranks);
  EXPECT_THAT(flat.ranks_of(0, 1), ElementsAre(11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21));
}

TEST(SmallGroups, CountARankWithoutAnL3ForItself) {
  EXPECT_EQ(small(hierarchy_of("epyc-2p.xml", 64, Mapping::core, "numa,socket"), Counted::l3s), "1 of 64");
  EXPECT_EQ(small(hierarchy_of("package:2 l3:16 core:8", 256, Mapping::core, "numa,socket"), Counted::l3s),
            "2 of 128, 1 of 2");
  EXPECT_EQ(small(Hierarchy::flat(64), Counted::l3s), "4 of 16, 1 of 4");
}

TEST(SmallGroups, FewRanksStayAsTheyAre) {
  EXPECT_EQ(small(Hierarchy::flat(16), Counted::ranks), "1 of 16");
  EXPECT_EQ(describe(in_small_groups(hierarchy_of("epyc-2p.xml", 16, Mapping::core, "numa,socket"), Counted::ranks)),
            "16 ranks: numa 2 × 8");
}

// Every root leads its own groups, and no group exceeds the requested size.
TEST(SmallGroups, HoldForEveryRootAndMapping) {
  for (const char *machine : {"epyc-2p.xml", "package:2 numa:4 core:20", "package:1 core:200"})
    for (Mapping by : {Mapping::core, Mapping::numa})
      for (int ranks : {17, 33, 61}) {
        const Hierarchy made = in_small_groups(hierarchy_of(machine, ranks, by, "numa,socket"), Counted::ranks);
        for (int root = 0; root < ranks; ++root) {
          const Tree tree = made.tree_for_root(root);
          std::size_t children = 0;
          for (int rank = 0; rank < ranks; ++rank) {
            children += tree.children(rank).size();
            for (int level = 0; level < made.levels(); ++level) EXPECT_LE(tree.group_size(rank, level), small_group);
          }
          EXPECT_EQ(children, std::size_t(ranks) - 1) << machine << " " << root;
        }
      }
}

}  // namespace
}  // namespace coll::topo
