// SPDX-License-Identifier: BSD-3-Clause
// The hierarchy as a plan generator sees it from a root.
#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>

#include <gmock/gmock.h>

#include "../seed.h"
#include "support.h"

namespace coll::topo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Messages {
  int inter_socket = 0, inter_numa = 0, intra_numa = 0;
  bool operator==(const Messages &) const = default;
};

// Counts one message from every parent to each of its children.
Messages count_messages(const Hierarchy &hierarchy, int root) {
  const Tree tree = hierarchy.tree_for_root(root);
  Messages count;
  for (int rank = 0; rank < hierarchy.ranks(); ++rank) {
    for (int child : tree.children(rank)) {
      const Distance distance = hierarchy.distance(rank, child);
      if (distance == Distance::node) ++count.inter_socket;
      else if (distance == Distance::socket) ++count.inter_numa;
      else ++count.intra_numa;
    }
  }
  return count;
}

// XHC Table II, row "XHC-tree, any": the parameter of the fixture is the description of the machine.
class TableII : public testing::TestWithParam<std::tuple<const char *, Mapping>> {};

TEST_P(TableII, HoldsForEveryRoot) {
  const auto [machine, by] = GetParam();
  const Hierarchy hierarchy = hierarchy_of(machine, 64, by, "numa,socket");

  for (int root = 0; root < 64; ++root)
    EXPECT_EQ(count_messages(hierarchy, root), (Messages{1, 6, 56})) << "root " << root;
}

INSTANTIATE_TEST_SUITE_P(AnyMapping, TableII,
                         testing::Combine(testing::Values("package:2 numa:4 core:8", "epyc-2p.xml"),
                                          testing::Values(Mapping::core, Mapping::numa)));

TEST(Tree, FlatTreeShowsWhyHierarchiesExist) {
  const Hierarchy flat = hierarchy_of("package:2 numa:4 core:8", 64, Mapping::core, "flat");

  EXPECT_EQ(count_messages(flat, 10), (Messages{32, 24, 7}));
}

TEST(Tree, AnswersForOneRank) {
  const Hierarchy hierarchy = hierarchy_of("package:2 numa:2 core:3", 12, Mapping::core, "numa,socket");
  const Tree tree = hierarchy.tree_for_root(7);

  // The root leads everything.
  EXPECT_EQ(tree.levels_led(7), 3);
  EXPECT_EQ(tree.parent(7), -1);
  EXPECT_EQ(tree.parent_level(7), -1);
  EXPECT_THAT(tree.children(7), ElementsAre(0, 9, 6, 8)) << "outermost first";
  EXPECT_THAT(tree.children(7, 0), ElementsAre(6, 8));
  EXPECT_THAT(tree.group_of(7, 0).members, ElementsAre(7, 6, 8));
  // A leader of its NUMA node and socket.
  EXPECT_EQ(tree.levels_led(0), 2);
  EXPECT_EQ(tree.parent(0), 7);
  EXPECT_EQ(tree.parent_level(0), 2);
  EXPECT_EQ(tree.position(0, 2), 1);
  EXPECT_THAT(tree.children(0, 1), ElementsAre(3));
  EXPECT_THAT(tree.children(0, 2), IsEmpty());
  // The lowest rank of the root's NUMA node is an ordinary member there.
  EXPECT_EQ(tree.levels_led(6), 0);
  EXPECT_EQ(tree.parent(6), 7);
  EXPECT_FALSE(tree.takes_part(6, 1));
  EXPECT_EQ(tree.position(6, 1), -1);
  EXPECT_EQ(tree.leader(6, 1), 7);
  // A leaf.
  EXPECT_EQ(tree.parent(11), 9);
  EXPECT_EQ(tree.position(11, 0), 2);
  EXPECT_EQ(tree.group_size(11, 0), 3);
}

void check_tree(const Hierarchy &hierarchy, int root) {
  const Tree tree = hierarchy.tree_for_root(root);
  const int ranks = hierarchy.ranks(), levels = tree.levels();
  int edges = 0;

  EXPECT_EQ(tree.groups(levels - 1), 1);
  EXPECT_EQ(tree.levels_led(root), levels);
  std::set<int> taking_part;  // leaders of the level below
  for (int rank = 0; rank < ranks; ++rank) taking_part.insert(rank);
  for (int level = 0; level < levels; ++level) {
    std::set<int> members, leaders;
    for (int index = 0; index < tree.groups(level); ++index) {
      const Group group = tree.group(level, index);
      const std::vector<int> inside = hierarchy.ranks_of(level, index);
      const bool has_root = std::ranges::binary_search(inside, root);
      EXPECT_EQ(group.leader(), has_root ? root : inside.front());
      EXPECT_TRUE(std::is_sorted(group.members.begin() + 1, group.members.end()));
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        const int rank = group.members[i];
        EXPECT_TRUE(std::ranges::binary_search(inside, rank));
        EXPECT_TRUE(members.insert(rank).second) << "rank " << rank << " is in two groups of level " << level;
        EXPECT_EQ(tree.position(rank, level), static_cast<int>(i));
        EXPECT_EQ(tree.group_index(rank, level), index);
        EXPECT_EQ(tree.leader(rank, level), group.leader());
        EXPECT_EQ(tree.group_size(rank, level), static_cast<int>(group.members.size()));
        EXPECT_EQ(tree.leads(rank, level), i == 0);
        EXPECT_TRUE(tree.takes_part(rank, level));
        if (i > 0) {
          EXPECT_EQ(tree.parent(rank), group.leader());
          EXPECT_EQ(tree.parent_level(rank), level);
        }
      }
      EXPECT_EQ(tree.children(group.leader(), level), std::vector<int>(group.members.begin() + 1, group.members.end()));
      leaders.insert(group.leader());
    }
    EXPECT_EQ(members, taking_part) << "level " << level;
    taking_part = leaders;
  }
  EXPECT_THAT(taking_part, ElementsAre(root));
  for (int rank = 0; rank < ranks; ++rank) {
    int steps = 0, at = rank;
    while (tree.parent(at) >= 0 && ++steps <= levels) at = tree.parent(at);
    EXPECT_EQ(at, root) << "from rank " << rank;
    edges += static_cast<int>(tree.children(rank).size());
  }
  EXPECT_EQ(edges, ranks - 1);
}

TEST(Tree, IsASpanningTreeForAnyPlacesAndRoot) {
  std::mt19937_64 random(coll::test::seed());
  for (int round = 0; round < 150; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 40);
    const auto any = [&](unsigned limit) {
      return static_cast<int>(random() % (limit + 1)) - (random() % 4 == 0 ? 1 : 0);
    };
    std::vector<Place> places;
    for (int rank = 0; rank < ranks; ++rank)
      places.push_back(
          {.package = any(2), .numa = any(4), .l3 = any(6), .core = any(20), .pu = any(40), .l2 = any(10)});
    const char *sensitivities[] = {"flat", "socket", "numa,socket", "l3,numa,socket", "core,l2,l3,numa,socket"};
    const Hierarchy hierarchy = Hierarchy::from_places(places, sensitivity_of(sensitivities[random() % 5]));
    for (int root = 0; root < ranks; root += 1 + static_cast<int>(random() % 5)) check_tree(hierarchy, root);
    if (testing::Test::HasFailure()) FAIL() << draw(hierarchy);
  }
}

TEST(Tree, IsASpanningTreeOnRecordedMachines) {
  for (const char *machine : {"epyc-2p.xml", "epyc-2p-container.xml", "package:2 numa:4 core:20"})
    for (Mapping by : {Mapping::core, Mapping::numa})
      for (int ranks : {1, 2, 7, 64, 163}) check_tree(hierarchy_of(machine, ranks, by, "l3,numa,socket"), ranks / 2);
}

}  // namespace
}  // namespace coll::topo
