// SPDX-License-Identifier: BSD-3-Clause
// Compares the closed formulas with sums computed by hand from the parameters of the papers.
#include <gtest/gtest.h>

#include <cmath>

#include "machines.h"
#include "model/formulas.h"
#include "model/prices.h"

namespace coll::model {
namespace {

constexpr double mib = 1 << 20;

class OnKnl : public ::testing::Test {
 protected:
  testing::Placed placed_{"knl", 64};
  Setting on_{placed_.table, placed_.hierarchy, Mechanism::cma};
  // C(gamma_c) of CMA II with Table IV.
  static double copy(double bytes, double gamma) {
    return 1.43 + bytes / 3290 + 0.25 * gamma * std::ceil(bytes / 4096);
  }
};

TEST_F(OnKnl, OneCopyCostsAsInThePaper) {
  EXPECT_NEAR(on_.copy(mib).total_us(), copy(mib, 1), 1e-6);
  EXPECT_NEAR(on_.copy(mib, 8).total_us(), copy(mib, 0.11 * 63 + 1.6 * 7 + 1), 1e-6);
  EXPECT_NEAR(on_.copy(4097).lock_us, 0.5, 1e-9);  // two pages
  EXPECT_NEAR(on_.copy(mib).startup_us, 1.43, 1e-9);
}

TEST_F(OnKnl, ScatterAddsUp) {
  const double b = on_.tiny_bcast_us(), g = on_.tiny_gather_us();
  EXPECT_NEAR(scatter_sequential_write(on_, mib, {}).total_us(), g + 63 * copy(mib, 1) + b, 1e-6);
  EXPECT_NEAR(scatter_sequential_write(on_, mib, {.in_place = false}).total_us() -
                  scatter_sequential_write(on_, mib, {}).total_us(),
              mib / 3290, 1e-6);
  const double gamma63 = 0.11 * (63 * 63 - 1) + 1.6 * 62 + 1;
  EXPECT_NEAR(scatter_parallel_read(on_, mib, {}).total_us(), b + copy(mib, gamma63) + g, 1e-6);
  const Terms throttled = scatter_throttled_read(on_, mib, {.k = 8});
  EXPECT_NEAR(throttled.total_us(),
              b + 8 * copy(mib, 0.11 * 63 + 1.6 * 7 + 1) + 8 * on_.flag_us(on_.farthest()) + 7 * on_.look_us(), 1e-6);
  EXPECT_NEAR(scatter_throttled_read(on_, mib, {.k = 10}).startup_us, 7 * 1.43, 1e-9);  // k need not divide p
}

TEST_F(OnKnl, GatherIsScatterReversed) {
  for (double bytes : {100.0, 5000.0, mib}) {
    EXPECT_EQ(gather_parallel_write(on_, bytes, {}).total_us(), scatter_parallel_read(on_, bytes, {}).total_us());
    EXPECT_EQ(gather_sequential_read(on_, bytes, {}).total_us(), scatter_sequential_write(on_, bytes, {}).total_us());
    const double read_us = scatter_throttled_read(on_, bytes, {.k = 3}).total_us();  // a sum of steps
    EXPECT_NEAR(gather_throttled_write(on_, bytes, {.k = 3}).total_us(), read_us, 1e-9 * read_us);
  }
}

TEST_F(OnKnl, CountsMayBeZeroAndDiffer) {
  std::vector<double> counts(64, mib);
  EXPECT_NEAR(scatterv(on_, counts, 0, 1).startup_us, 63 * 1.43, 1e-6);
  EXPECT_NEAR(scatterv(on_, counts, 0, 64).total_us(), scatter_parallel_read(on_, mib, {}).total_us(), 1e-6);
  for (size_t rank = 2; rank < 64; ++rank) counts[rank] = 0;
  EXPECT_NEAR(gatherv(on_, counts, 0, 8).total_us() - gatherv(on_, counts, 0, 8).flags_us, copy(mib, 1), 1e-6);
  std::fill(counts.begin(), counts.end(), 0);
  EXPECT_EQ(scatterv(on_, counts, 0, 8).startup_us, 0);
}

TEST_F(OnKnl, KnomialHasWholeRounds) {
  const auto rounds = [&](int k) { return std::lround(bcast_knomial(on_, mib, {.k = k}).startup_us / 1.43); };
  EXPECT_EQ(rounds(1), 6);  // 2^6
  EXPECT_EQ(rounds(3), 3);  // 4^3
  EXPECT_EQ(rounds(7), 2);  // 8^2
  EXPECT_EQ(rounds(8), 2);
  EXPECT_EQ(rounds(63), 1);
}

TEST_F(OnKnl, ScatterAllgatherMovesTheVectorTwice) {
  const Terms terms = bcast_scatter_allgather(on_, 64 * mib, {.k = 1});
  EXPECT_NEAR(terms.transfer_us, (64 + 63) * mib / 3290, 1e-3 * terms.transfer_us);
}

// Each block is one copy, whichever rank has it.
TEST_F(OnKnl, AllgatherFormsMoveTheSameBlocks) {
  const Terms ring = allgather_ring_source_read(on_, mib, {}), doubling = allgather_recursive_doubling(on_, mib, {}),
              bruck = allgather_bruck(on_, mib, {});
  EXPECT_NEAR(ring.startup_us, 63 * 1.43, 1e-6);
  EXPECT_NEAR(doubling.startup_us, ring.startup_us, 1e-6);
  EXPECT_NEAR(doubling.transfer_us, ring.transfer_us, 1e-6 * ring.transfer_us);
  EXPECT_NEAR(doubling.lock_us, ring.lock_us, 1e-6 * ring.lock_us);
  EXPECT_NEAR(bruck.transfer_us, ring.transfer_us, 1e-6 * ring.transfer_us);
  EXPECT_EQ(alltoall_pairwise(on_, mib, {}).startup_us, ring.startup_us);
}

// On Broadwell, neighbours on the other socket cost more (CMA V-A.5: neighbour 1 versus neighbour 15).
TEST(OnTwoSockets, NearNeighboursAreBetter) {
  testing::Placed placed("broadwell", 28);
  placed.table.access[size_t(Mechanism::cma)].bandwidth_gbs.at[size_t(topo::Distance::node)] = 6;
  placed.table.flag_ns.at[size_t(topo::Distance::node)] = 200;
  const Setting on(placed.table, placed.hierarchy, Mechanism::cma);
  EXPECT_LE(allgather_ring_source_read(on, mib, {}).total_us(), allgather_ring_neighbor(on, mib, {.k = 15}).total_us());
}

// gamma = 1 and equal costs: one distance, no locks, so the bounds of the pipelines are plain sums.
TEST(Pipelines, HierarchicalHidesAllLevelsButTheSlowest) {
  const testing::Placed placed("epyc-2p", 64);
  const Setting on(placed.table, placed.hierarchy, Mechanism::mapped);
  const double whole = bcast_hierarchical(on, 8 * mib, {}).total_us();
  const double piped = bcast_hierarchical(on, 8 * mib, {.chunk_bytes = 65536}).total_us();
  EXPECT_LT(piped, 0.6 * whole);  // three levels
  EXPECT_GT(piped, whole / 4);
}

TEST(Network, TwoLevelsAddOneMessagePerLeader) {
  const Terms within = {.startup_us = 3, .flags_us = 1};
  EXPECT_DOUBLE_EQ(two_level(within, {.startup_us = 2, .bandwidth_gbs = 10}, 8, 1e6).total_us(), 4 + 7 * 2 + 7 * 100.0);
  EXPECT_DOUBLE_EQ(two_level(within, {}, 1, 1e6).total_us(), 4);
}

TEST(Barriers, FlagsOnly) {
  const testing::Placed placed("epyc-1p", 32);
  const Setting on(placed.table, placed.hierarchy, Mechanism::shared_memory);
  for (Formula barrier : {barrier_flat, barrier_dissemination, barrier_hierarchical}) {
    const Terms terms = barrier(on, 0, {});
    EXPECT_GT(terms.flags_us, 0);
    EXPECT_EQ(terms.total_us(), terms.flags_us);
  }
  // Five rounds: three inside L3, NUMA node ... each at the largest distance of its step.
  EXPECT_LE(barrier_dissemination(on, 0, {}).flags_us, 5 * 0.15 + 1e-9);
}

// Loads and stores of a core have the ratio of the volumes if nothing else costs time.
TEST(Reductions, FollowTheVolumes) {
  testing::Placed placed("nodea", 64);
  placed.table.links = {};
  const Setting on(placed.table, placed.hierarchy, Mechanism::shared_memory);
  const double bytes = 64 * mib;
  const double fused = allreduce_fused(on, bytes, {}).transfer_us,
               ma = allreduce_movement_avoiding(on, bytes, {}).transfer_us,
               dpml = allreduce_dpml(on, bytes, {}).transfer_us, ring = allreduce_ring(on, bytes, {}).transfer_us;
  EXPECT_LE(fused, ma);
  EXPECT_LT(ma, dpml);
  EXPECT_LT(ma, ring);
}

// Two ranks need one copy of the data that one has for the other, of which each may make a half; sixteen ranks need at
// least as long.
TEST(EveryFormula, CostsACopyBetweenTwoRanksAndNoLessBetweenMore) {
  constexpr double bytes = 65536;
  const testing::Placed two("broadwell", 2), many("broadwell", 16);
  const Setting on_two(two.table, two.hierarchy, Mechanism::cma), on_many(many.table, many.hierarchy, Mechanism::cma);
  for (const Row& row : rows()) {
    SCOPED_TRACE(std::string(row.collective) + " " + std::string(row.algorithm));
    const double us = row.formula(on_two, bytes, {}).total_us();
    if (row.collective != "barrier") { EXPECT_GE(us, on_two.copy(bytes).transfer_us / 2); }
    EXPECT_GE(row.formula(on_many, bytes, {}).total_us(), us);
  }
}

}  // namespace
}  // namespace coll::model
