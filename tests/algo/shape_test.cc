// SPDX-License-Identifier: BSD-3-Clause
// The form of plans: the program of one rank alone equals that in the whole plan, plans do not grow with the vector or
// its chunks, and messages travel no farther than in the papers.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "plan/check.h"
#include "plan/count.h"
#include "requests.h"

namespace coll::algo {
namespace {

using plan::Collective;
using plan::Kind;
using plan::Plan;
using plan::Program;
using plan::Space;

// Plain data without padding, so bytes can be compared.
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool same(const Program& a, const Program& b) {
  if (a.lanes.size() != b.lanes.size() || !same(a.operands, b.operands)) return false;
  for (size_t lane = 0; lane < a.lanes.size(); ++lane)
    if (!same(a.lanes[lane].steps, b.lanes[lane].steps)) return false;
  return true;
}

size_t steps(const Plan& plan) {
  size_t sum = 0;
  for (const Program& program : plan.programs)
    for (const plan::Lane& lane : program.lanes) sum += lane.steps.size();
  return sum;
}

bool rooted(const Algorithm& algorithm) { return is_rooted(algorithm.collective); }

TEST(Shape, OneRanksProgramIsThatOfTheWholePlan) {
  const topo::Hierarchy machines[] = {topo::Hierarchy::flat(1), topo::Hierarchy::flat(2), testing::machine(7, 2, 2, 2),
                                      testing::machine(13, 2, 2, 4, true)};
  for (const Algorithm& algorithm : algorithms())
    for (const topo::Hierarchy& hierarchy : machines)
      for (int root = 0; root < (rooted(algorithm) ? hierarchy.ranks() : 1); ++root) {
        PlanRequest request{.hierarchy = &hierarchy, .root = root};
        request.parameters.level_chunk_bytes = {1024, 4096};
        const Plan whole = algorithm.make(request);
        EXPECT_EQ(plan::check_form(whole), "") << algorithm.name;
        for (int rank = 0; rank < hierarchy.ranks(); ++rank) {
          request.only_rank = rank;
          const Plan own = algorithm.make(request);
          ASSERT_EQ(own.programs.size(), 1u);
          EXPECT_TRUE(same(own.program(rank), whole.program(rank)))
              << plan::name(algorithm.collective) << " " << algorithm.name << " rank " << rank << " root " << root;
          EXPECT_TRUE(same(own.views, whole.views) && own.ranges == whole.ranges) << algorithm.name;
          EXPECT_EQ(own.flags, whole.flags);
          EXPECT_EQ(own.staging_bytes, whole.staging_bytes);
          EXPECT_EQ(own.largest_value, whole.largest_value);
          EXPECT_EQ(own.smallest_chunk_bytes, whole.smallest_chunk_bytes);
          EXPECT_EQ(own.synchronizing, whole.synchronizing);
          EXPECT_EQ(own.balanced, whole.balanced);
        }
      }
}

TEST(Shape, PlansDoNotGrowWithChunks) {
  const topo::Hierarchy hierarchy = testing::machine(16, 2, 2, 4);
  for (const Algorithm& algorithm : algorithms()) {
    PlanRequest request{.hierarchy = &hierarchy};
    const size_t coarse = steps(algorithm.make(request));
    request.parameters.chunk_bytes = 64;
    request.parameters.depth = 64;
    EXPECT_EQ(steps(algorithm.make(request)), coarse) << algorithm.name;
  }
}

// The number of steps of one rank is linear in the number of ranks, for every algorithm.
TEST(Shape, ProgramsAreShort) {
  const topo::Hierarchy hierarchy = testing::machine(64, 2, 4, 8);
  for (const Algorithm& algorithm : algorithms()) {
    const Plan plan = algorithm.make({.hierarchy = &hierarchy});
    for (const Program& program : plan.programs) {
      size_t sum = 0;
      for (const plan::Lane& lane : program.lanes) sum += lane.steps.size();
      EXPECT_LE(sum, 64u * 8) << plan::name(algorithm.collective) << " " << algorithm.name;
    }
  }
}

// Limits of the executor: lib/exec/channel.h.
TEST(Shape, PlansFitTheExecutor) {
  for (int ranks : {2, 64, 121, 160, 255}) {
    const topo::Hierarchy machines[] = {topo::Hierarchy::flat(ranks), testing::machine(ranks, 2, 4, (ranks + 7) / 8)};
    for (const topo::Hierarchy& hierarchy : machines)
      for (const Algorithm& algorithm : algorithms()) {
        PlanRequest request{.hierarchy = &hierarchy, .only_rank = ranks - 1, .parameters = {.k = 1}};
        request.parameters.level_chunk_bytes = {1024, 65536};
        const Plan plan = algorithm.make(request);
        EXPECT_LE(plan.flags, 128) << algorithm.name << " " << ranks;
        EXPECT_LE(plan.views.size(), 8u) << algorithm.name << " " << ranks;
        // With chunks of a few KiB a rank's staging stays below a MiB, whatever the number of ranks.
        EXPECT_LE(plan.staging_bytes, 1u << 20) << algorithm.name << " " << ranks;
      }
  }
}

// For any requested chunk size, the rings of a plan's views do not overlap in its staging.
TEST(Shape, HugeChunksDoNotWrapTheStaging) {
  const topo::Hierarchy hierarchy = testing::machine(48, 2, 4, 6);
  for (const Algorithm& algorithm : algorithms()) {
    PlanRequest request{.hierarchy = &hierarchy, .parameters = {.chunk_bytes = 1u << 30, .depth = 1024}};
    const Plan plan = algorithm.make(request);
    EXPECT_EQ(plan::check_form(plan), "") << algorithm.name;
    uint64_t sum = 0;
    for (const plan::View& view : plan.views) sum += uint64_t(view.slot_bytes) * view.depth * view.blocks;
    EXPECT_EQ(plan.staging_bytes, sum) << algorithm.name;
  }
}

// ---- distances (XHC Table II) ---------------------------------------------------------------------------------

struct Messages {
  int sockets = 0, numas = 0, inside = 0;
  bool operator==(const Messages&) const = default;
};

Messages messages(const Plan& plan, const topo::Hierarchy& hierarchy) {
  const plan::Counts counts = plan::count(plan, 1024, 8, plan::AccessMode::direct, [&](int a, int b) -> uint8_t {
    switch (hierarchy.distance(a, b)) {
      case topo::Distance::node: return 2;
      case topo::Distance::socket: return 1;
      default: return 0;
    }
  });
  EXPECT_EQ(counts.problem, "");
  Messages made;
  int* const classes[] = {&made.inside, &made.numas, &made.sockets};
  for (size_t i = 0; i < counts.by_distance.size(); ++i) *classes[i] = int(counts.by_distance[i].messages);
  return made;
}

TEST(Distance, HierarchicalPlansCrossEachBorderOnce) {
  for (bool by_numa : {false, true}) {
    const topo::Hierarchy hierarchy = testing::machine(64, 2, 4, 8, by_numa);
    for (Collective collective : {Collective::bcast, Collective::reduce}) {
      // A reduction keeps its order and cannot use groups whose ranks are not consecutive.
      if (by_numa && collective == Collective::reduce) continue;
      for (int root = 0; root < 64; ++root) {
        const Plan plan = find(collective, "hierarchical")->make({.hierarchy = &hierarchy, .root = root});
        EXPECT_EQ(messages(plan, hierarchy), (Messages{1, 6, 56})) << plan::name(collective) << " root " << root;
      }
    }
    if (by_numa) continue;
    // Once up and once down.
    const Plan plan = find(Collective::allreduce, "hierarchical")->make({.hierarchy = &hierarchy});
    EXPECT_EQ(messages(plan, hierarchy), (Messages{2, 12, 112}));
  }
}

// If no group has consecutive ranks, one flat group remains, and the registry reports that the algorithm does not
// apply; if only the inner groups have not, the outer ones remain.
TEST(Distance, ReductionsKeepTheGroupsOfConsecutiveRanks) {
  const topo::Hierarchy scattered = testing::machine(64, 2, 4, 8, true);
  std::vector<topo::Place> places(64);
  for (int rank = 0; rank < 64; ++rank) {
    topo::Place& place = places[size_t(rank)];
    place.package = rank / 32;
    place.numa = rank / 32 * 4 + rank % 4;
    place.core = place.pu = place.l2 = rank;
  }
  const topo::Hierarchy inside = topo::Hierarchy::from_places(places);
  for (const char* name : {"hierarchical", "hierarchical_by_index", "dpml_two_level"})
    for (Collective collective : {Collective::reduce, Collective::allreduce}) {
      const Algorithm& algorithm = *find(collective, name);
      EXPECT_FALSE(algorithm.applies({.hierarchy = &scattered})) << name;
      EXPECT_TRUE(algorithm.applies({.hierarchy = &inside})) << name;
    }
  const Plan plan = find(Collective::reduce, "hierarchical")->make({.hierarchy = &inside, .root = 40});
  EXPECT_EQ(messages(plan, inside).sockets, 1);
}

// A fixed schedule depends on the placement of the ranks and on the root. In XHC Table II, holders of "binomial" serve
// three readers per round; with one reader per round it crosses fewer borders from root 0, but still too many from
// others.
TEST(Distance, AKnomialTreeDependsOnMappingAndRoot) {
  const Algorithm& knomial = *find(Collective::bcast, "knomial");
  const auto of = [&](uint16_t k, bool by_numa, int root) {
    const topo::Hierarchy hierarchy = testing::machine(64, 2, 4, 8, by_numa);
    return messages(knomial.make({.hierarchy = &hierarchy, .root = root, .parameters = {.k = k}}), hierarchy);
  };
  EXPECT_EQ(of(3, false, 0), (Messages{2, 9, 52}));
  EXPECT_EQ(of(3, true, 0), (Messages{8, 48, 7}));
  EXPECT_EQ(of(3, false, 10), (Messages{10, 17, 36}));
  EXPECT_EQ(of(1, false, 0), (Messages{1, 6, 56}));
  EXPECT_EQ(of(1, true, 0), (Messages{8, 48, 7}));
  EXPECT_EQ(of(1, false, 10), (Messages{5, 10, 48}));
}

// No holder of a k-nomial tree serves more than k readers between two of its waits for them, and no rank is more than
// ceil(log_{k+1} p) rounds away.
TEST(Knomial, HasTheRoundsOfTheFormula) {
  const Algorithm& knomial = *find(Collective::bcast, "knomial");
  for (int k : {1, 2, 3, 4, 10})
    for (int ranks : {2, 3, 9, 10, 28, 64}) {
      const topo::Hierarchy hierarchy = topo::Hierarchy::flat(ranks);
      const Plan plan = knomial.make({.hierarchy = &hierarchy, .root = ranks / 3, .parameters = {.k = uint16_t(k)}});
      int rounds = 0;
      for (long reach = 1; reach < ranks; reach *= k + 1) ++rounds;
      std::map<int, int> parent;
      for (int rank = 0; rank < ranks; ++rank)
        for (const plan::Operand& operand : plan.program(rank).operands)
          if (operand.space == Space::view && operand.rank != rank) parent[rank] = operand.rank;
      std::map<int, int> readers;
      for (auto [child, holder] : parent) ++readers[holder];
      for (auto [holder, count] : readers) EXPECT_LE(count, k * rounds);
      ASSERT_EQ(parent.size(), size_t(ranks) - 1);
      for (int rank = 0; rank < ranks; ++rank) {
        int hops = 0;
        for (int at = rank; at != plan.root; at = parent.at(at)) ++hops;
        EXPECT_LE(hops, rounds) << ranks << " ranks, k " << k;
      }
    }
}

}  // namespace
}  // namespace coll::algo
