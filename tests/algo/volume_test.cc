// SPDX-License-Identifier: BSD-3-Clause
// Data access volumes, counted from the steps of the plans, are those that the papers derive (YHCCL Tables 1 to 3).
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <tuple>

#include "plan/count.h"
#include "requests.h"

namespace coll::algo {
namespace {

using plan::AccessMode;
using plan::Collective;

// An odd size on purpose: slices and chunks end anywhere, which must not change the volume.
constexpr size_t count = 4001, element_bytes = 8;

struct Volume {
  uint64_t total = 0, copied = 0;  // in vectors; a reduce-scatter's vector is p blocks
};

// Counts for the transport that the paper of the algorithm describes. Fails if the volume is not a whole number of
// vectors.
Volume volume(Collective collective, const char* name, const topo::Hierarchy& hierarchy, int root = 0, uint16_t k = 2) {
  const Algorithm* algorithm = find(collective, name);
  if (algorithm == nullptr) return ADD_FAILURE() << plan::name(collective) << " " << name, Volume();
  const size_t pieces = has_pieces(collective) ? size_t(hierarchy.ranks()) : 1;
  const size_t elements = count / pieces / 2 * 2 + 1, vector_bytes = pieces * elements * element_bytes;
  const plan::Plan plan =
      algorithm->make({.hierarchy = &hierarchy, .root = root, .parameters = {.chunk_bytes = 2048, .k = k}});
  const plan::Counts counts = plan::count(plan, elements, element_bytes, algorithm->described);
  EXPECT_EQ(counts.problem, "") << name;
  EXPECT_EQ(counts.total.total() % vector_bytes, 0u) << name << " " << hierarchy.ranks() << " ranks";
  EXPECT_EQ(counts.copied.total() % vector_bytes, 0u) << name << " " << hierarchy.ranks() << " ranks";
  return {counts.total.total() / vector_bytes, counts.copied.total() / vector_bytes};
}

uint64_t total(Collective collective, const char* name, const topo::Hierarchy& hierarchy, int root = 0) {
  return volume(collective, name, hierarchy, root).total;
}

constexpr int most_ranks = 64;
constexpr auto reduce = Collective::reduce, allreduce = Collective::allreduce,
               reduce_scatter = Collective::reduce_scatter, scan = Collective::scan, exscan = Collective::exscan;

// p ranks of one group.
class Table : public ::testing::Test {
 protected:
  template <class Expect>
  void for_all_ranks(Expect expect) {
    for (int p = 2; p <= most_ranks; ++p) {
      const topo::Hierarchy flat = topo::Hierarchy::flat(p);
      SCOPED_TRACE(p);
      expect(uint64_t(p), flat);
    }
  }
};

TEST_F(Table, Ring) {
  for_all_ranks([](uint64_t p, const topo::Hierarchy& flat) {
    EXPECT_EQ(total(reduce_scatter, "ring", flat), 5 * (p - 1));
    EXPECT_EQ(total(allreduce, "ring", flat), 7 * (p - 1));
  });
}

TEST_F(Table, RabenseifnerWithPowersOfTwo) {
  for (int p = 2; p <= most_ranks; p *= 2) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    uint64_t halves = 0;  // p (1/2 + 1/4 + ... + 1/p)
    for (int part = 2; part <= p; part *= 2) halves += uint64_t(p / part);
    EXPECT_EQ(total(reduce_scatter, "rabenseifner", flat), 5 * halves) << p;
    EXPECT_EQ(total(allreduce, "rabenseifner", flat), 7 * halves) << p;
  }
}

// The papers have no row for this case: they fold the ranks beyond a power of two; 160 ranks are blocks of 128 and 32.
TEST_F(Table, RabenseifnerWithAnyNumberOfRanks) {
  const auto expect = [](uint64_t p, const topo::Hierarchy& flat) {
    EXPECT_EQ(total(reduce_scatter, "rabenseifner", flat), 5 * (p - 1));
    EXPECT_EQ(total(allreduce, "rabenseifner", flat), 7 * (p - 1));
  };
  for_all_ranks(expect);
  expect(160, topo::Hierarchy::flat(160));
}

TEST_F(Table, Dpml) {
  for_all_ranks([](uint64_t p, const topo::Hierarchy& flat) {
    EXPECT_EQ(total(reduce_scatter, "dpml", flat), 3 * p + 1);
    EXPECT_EQ(total(allreduce, "dpml", flat), 5 * p + 1);
    EXPECT_EQ(total(reduce, "dpml", flat, int(p) / 2), 3 * p + 3);
  });
}

TEST_F(Table, RgWithPowersOfItsGroups) {
  for (int k = 1; k < most_ranks; k = 2 * k + 1)
    for (int p = k + 1; p <= most_ranks; p *= k + 1) {
      const topo::Hierarchy flat = topo::Hierarchy::flat(p);
      uint64_t expected = uint64_t((3 * k + 2) * (p / (k + 1)));
      for (int groups = p / (k + 1) / (k + 1); groups >= 1; groups /= k + 1) expected += uint64_t((k + 2) * groups);
      EXPECT_EQ(volume(allreduce, "rg", flat, 0, uint16_t(k)).total, expected + 2 * uint64_t(p)) << p << " " << k;
      for (int root : {0, p / 3, p - 1})
        EXPECT_EQ(volume(reduce, "rg", flat, root, uint16_t(k)).total, expected) << p << " " << k << " " << root;
    }
}

TEST_F(Table, MovementAvoiding) {
  for_all_ranks([](uint64_t p, const topo::Hierarchy& flat) {
    EXPECT_EQ(total(reduce_scatter, "movement_avoiding", flat), 3 * p - 1);
    EXPECT_EQ(total(allreduce, "movement_avoiding", flat), 5 * p - 1);
    EXPECT_EQ(total(reduce, "movement_avoiding", flat, int(p) / 2), 3 * p + 1);
  });
}

// The papers have no row for it. The results of the last rank need not be fetched; in a reduce-scatter that is one
// block.
TEST_F(Table, InOrderTree) {
  for_all_ranks([](uint64_t p, const topo::Hierarchy& flat) {
    EXPECT_EQ(total(allreduce, "in_order_tree", flat), 5 * p - 2);
    EXPECT_EQ(total(reduce, "in_order_tree", flat, int(p - 1) / 2), 3 * p + 1);
    EXPECT_EQ(total(reduce, "in_order_tree", flat, int(p) - 1), 3 * p - 1);
  });
}

TEST_F(Table, MovementAvoidingSocketAware) {
  for (int m : {1, 2, 3, 4}) {
    int machines = 0;
    for (int ranks = 2; ranks <= most_ranks; ++ranks) {
      // One NUMA node per socket, so that the sockets are the only level; groups are uneven if m does not divide p.
      const topo::Hierarchy sockets = testing::machine(ranks, m, 1, (ranks + m - 1) / m);
      const int used = sockets.is_flat() ? 1 : sockets.groups(0);
      if (used != m) continue;  // too few ranks for so many sockets
      ++machines;
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(m) + " sockets");
      const uint64_t p = uint64_t(ranks), extra = uint64_t(2 * m);
      EXPECT_EQ(total(reduce_scatter, "movement_avoiding_socket", sockets), 3 * p + extra - 3);
      EXPECT_EQ(total(allreduce, "movement_avoiding_socket", sockets), 5 * p + extra - 3);
      EXPECT_EQ(total(reduce, "movement_avoiding_socket", sockets), 3 * p + extra - 1);
    }
    EXPECT_GE(machines, 50) << m << " sockets";
  }
}

TEST_F(Table, SharedAddressSpacePartitioned) {
  for_all_ranks([](uint64_t p, const topo::Hierarchy& flat) {
    EXPECT_EQ(total(allreduce, "shared_address_space", flat), 5 * (p - 1));
  });
}

TEST_F(Table, Fused) {
  for_all_ranks([](uint64_t p, const topo::Hierarchy& flat) {
    EXPECT_EQ(total(reduce_scatter, "fused", flat), p + 1);
    EXPECT_EQ(total(allreduce, "fused", flat), 3 * p - 1);
    EXPECT_EQ(total(reduce, "fused", flat, int(p) - 1), p + 1);
  });
}

// The papers have no rows for these. In Sklansky's network a rank combines two operands for every set bit of its
// number. An exclusive scan does not combine the lowest bit, but the rank combines what it publishes separately, with
// its own input.
TEST_F(Table, Sklansky) {
  for_all_ranks([](uint64_t p, const topo::Hierarchy& flat) {
    uint64_t inclusive = 2, exclusive = 0;  // rank 0 copies its input
    for (uint64_t rank = 1; rank < p; ++rank) {
      const uint64_t bits = uint64_t(std::popcount(rank)), ones = uint64_t(std::countr_one(rank));
      const bool shows = rank + 1 < p;
      inclusive += 3 * bits + (shows && bits == ones ? 1 : 0);  // a published result is stored twice
      exclusive += (bits == 1 ? 2 : 3 * (bits - 1)) + (shows ? 3 * ones : 0);
    }
    EXPECT_EQ(total(scan, "sklansky", flat), inclusive);
    EXPECT_EQ(total(exscan, "sklansky", flat), exclusive);
  });
}

// Each non-zero base-4 digit of a rank's number is a step with one operand more than the digit.
TEST_F(Table, FusedScan) {
  for_all_ranks([](uint64_t p, const topo::Hierarchy& flat) {
    uint64_t expected = 2;  // rank 0 copies its input
    for (uint64_t rank = 1; rank < p; ++rank)
      for (uint64_t digits = rank; digits != 0; digits /= 4) expected += digits % 4 != 0 ? digits % 4 + 2 : 0;
    for (uint64_t length = 4; length < p; length *= 4) ++expected;  // a result that is also kept
    EXPECT_EQ(total(scan, "fused", flat), expected);
  });
}

TEST_F(Table, CheckValuesAtSixtyFourRanksOnTwoSockets) {
  const topo::Hierarchy machine = testing::machine(64, 2, 4, 8);
  const std::tuple<Collective, const char*, uint64_t> expected[] = {{reduce_scatter, "ring", 315},
                                                                    {reduce_scatter, "rabenseifner", 315},
                                                                    {reduce_scatter, "dpml", 193},
                                                                    {reduce_scatter, "movement_avoiding", 191},
                                                                    {reduce_scatter, "movement_avoiding_socket", 193},
                                                                    {allreduce, "ring", 441},
                                                                    {allreduce, "rabenseifner", 441},
                                                                    {allreduce, "dpml", 321},
                                                                    {allreduce, "movement_avoiding", 319},
                                                                    {allreduce, "movement_avoiding_socket", 321},
                                                                    {allreduce, "shared_address_space", 315},
                                                                    {allreduce, "fused", 191}};
  for (const auto& [collective, name, value] : expected)
    EXPECT_EQ(total(collective, name, machine), value) << plan::name(collective) << " " << name;
}

// The paper's "smaller for p >= 4" is a tie with the ring at p = 4, m = 2 (allreduce).
TEST_F(Table, SocketAwareMovementAvoidingTiesWithTheRingAtFourRanks) {
  const topo::Hierarchy machine = testing::machine(4, 2, 1, 2);
  EXPECT_EQ(total(allreduce, "movement_avoiding_socket", machine), total(allreduce, "ring", machine));
}

// Theorem 3.1: a reduction through shared memory copies at least two vectors before it can reduce; movement avoiding
// copies no more. Its allreduce also copies the results that the ranks collect.
TEST(CopyVolume, MovementAvoidingMeetsTheLowerBound) {
  for (int p = 2; p <= most_ranks; ++p) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    EXPECT_EQ(volume(reduce_scatter, "movement_avoiding", flat).copied, 2u) << p;
    EXPECT_EQ(volume(reduce, "movement_avoiding", flat).copied, 2u + 2u) << p;
    EXPECT_EQ(volume(allreduce, "movement_avoiding", flat).copied, 2u + 2u * unsigned(p)) << p;
  }
}

// The vectors of half the ranks are copied in. Every block is copied out, except that of the last rank, which is
// combined in place.
TEST(CopyVolume, ReduceScatterInAnInOrderTree) {
  const Algorithm& tree = *find(reduce_scatter, "in_order_tree");
  constexpr size_t elements = 1025;
  for (size_t p : {2, 3, 8, 24, 64}) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(int(p));
    const plan::Counts counts = plan::count(tree.make({.hierarchy = &flat, .parameters = {.chunk_bytes = 2048}}),
                                            elements, element_bytes, tree.described);
    const size_t block = elements * element_bytes, copied = 2 * (p / 2) * p + 2 * (p - 1);
    EXPECT_EQ(counts.copied.total(), copied * block) << p;
    EXPECT_EQ(counts.total.total(), (3 * p * p + p - 2) * block) << p;
  }
}

TEST(CopyVolume, NoReductionThroughSharedMemoryCopiesLess) {
  int algorithms_seen = 0;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != reduce_scatter || algorithm.described != plan::AccessMode::staged) continue;
    if (algorithm.name == "in_order_tree") continue;  // not a whole number, see ReduceScatterInAnInOrderTree
    ++algorithms_seen;
    for (int p : {2, 3, 8, 24, 64}) {
      const topo::Hierarchy machine = testing::machine(p, 2, 1, (p + 1) / 2);
      EXPECT_GE(volume(reduce_scatter, std::string(algorithm.name).c_str(), machine).copied, 2u)
          << algorithm.name << " " << p;
    }
  }
  EXPECT_GE(algorithms_seen, 3);
}

// An odd size on purpose again; here the caller names the transport.
uint64_t volume_by(AccessMode access, Collective collective, const char* name, const topo::Hierarchy& hierarchy) {
  const plan::Plan plan = find(collective, name)->make({.hierarchy = &hierarchy, .parameters = {.chunk_bytes = 2048}});
  const plan::Counts counts = plan::count(plan, count, element_bytes, access);
  EXPECT_EQ(counts.problem, "") << name;
  EXPECT_EQ(counts.total.total() % (count * element_bytes), 0u) << name;
  return counts.total.total() / (count * element_bytes);
}

// The balanced order costs nothing if groups are nodes of its tree, and a few more partial results otherwise.
TEST(Volume, ReductionsUpAHierarchy) {
  struct Expected {
    topo::Hierarchy machine;
    uint64_t tree_reduce, tree_allreduce, sockets_reduce, sockets_allreduce, sockets_scatter;
  };
  // 64 ranks: a load of every source and a store for each of 8 + 2 + 1 groups; p - 1 copies down. 28 ranks: the border
  // between the two groups moves to rank 16, so that both are nodes of the tree.
  const Expected all[] = {{testing::machine(64, 2, 4, 8), 8 * 9 + 2 * 5 + 3, 85 + 2 * 63, 199, 325, 197},
                          {testing::machine(48, 2, 4, 6), 69 + 4, 163 + 4, 151 + 6, 245 + 6, 149 + 6},
                          {testing::machine(28, 2, 1, 14), 17 + 13 + 3, 33 + 2 * 27, 91 + 10, 145 + 10, 89 + 10}};
  for (const Expected& expected : all) {
    SCOPED_TRACE(expected.machine.ranks());
    for (const char* name : {"hierarchical", "hierarchical_by_index"}) {
      for (int root : {0, 5}) EXPECT_EQ(total(reduce, name, expected.machine, root), expected.tree_reduce) << name;
      EXPECT_EQ(total(allreduce, name, expected.machine), expected.tree_allreduce) << name;
    }
    for (int root : {0, 5})
      EXPECT_EQ(total(reduce, "dpml_two_level", expected.machine, root), expected.sockets_reduce) << root;
    EXPECT_EQ(total(allreduce, "dpml_two_level", expected.machine), expected.sockets_allreduce);
    EXPECT_EQ(total(reduce_scatter, "dpml_two_level", expected.machine), expected.sockets_scatter);
  }
}

TEST(Volume, Broadcasts) {
  for (int p : {2, 3, 4, 5, 6, 7, 8, 11, 16, 64}) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    EXPECT_EQ(total(Collective::bcast, "flat_read", flat), 2u * (p - 1)) << p;
    EXPECT_EQ(total(Collective::bcast, "sequential_write", flat), 2u * (p - 1)) << p;
    EXPECT_EQ(total(Collective::bcast, "knomial", flat), 2u * (p - 1)) << p;
    EXPECT_EQ(total(Collective::bcast, "shm_pipelined", flat), 2u * p) << p;
  }
  // Staged leaders load a chunk once for their own buffer and their slots: 3 instead of 4 per leader, 2 per leaf.
  const topo::Hierarchy machine = testing::machine(64, 2, 4, 8);
  EXPECT_EQ(volume_by(AccessMode::direct, Collective::bcast, "hierarchical", machine), 126u);
  EXPECT_EQ(volume_by(AccessMode::staged, Collective::bcast, "hierarchical", machine), 2u + 7 * 3 + 56 * 2);
}

}  // namespace
}  // namespace coll::algo
