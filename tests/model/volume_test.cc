// SPDX-License-Identifier: BSD-3-Clause
// The data access volumes at p = 64, m = 2, as in the papers.
#include <gtest/gtest.h>

#include "volume.h"

namespace coll::model::volume {
namespace {

TEST(Volume, AtSixtyFourRanksOnTwoSockets) {
  EXPECT_EQ(ring(64).reduce_scatter, 315);
  EXPECT_EQ(rabenseifner(64).reduce_scatter, 315);
  EXPECT_EQ(dpml(64).reduce_scatter, 319);
  EXPECT_EQ(movement_avoiding(64).reduce_scatter, 191);
  EXPECT_EQ(movement_avoiding_socket(64, 2).reduce_scatter, 193);
  EXPECT_EQ(ring(64).allreduce, 441);
  EXPECT_EQ(rabenseifner(64).allreduce, 441);
  EXPECT_EQ(dpml(64).allreduce, 447);
  EXPECT_EQ(movement_avoiding(64).allreduce, 319);
  EXPECT_EQ(movement_avoiding_socket(64, 2).allreduce, 321);
  EXPECT_EQ(mapped_partitioned(64).allreduce, 315);
  EXPECT_EQ(fused(64).allreduce, 191);
  EXPECT_EQ(fused(64).reduce_scatter, 65);
  EXPECT_EQ(fused(64).reduce, 65);
}

// One level of k + 1 = p is 5k/p per rank; an allreduce loads and stores the result once more on every rank.
TEST(Volume, RgCountsItsLevels) {
  EXPECT_DOUBLE_EQ(rg(4, 3).reduce, 4 * (5.0 * 3 / 4));
  EXPECT_DOUBLE_EQ(rg(16, 3).reduce, 16 * (5.0 * 3 / 4 + 3.0 * 3 / 16));
  EXPECT_DOUBLE_EQ(rg(16, 3).allreduce - rg(16, 3).reduce, 32);
}

// The paper's "smaller for p >= 4" is a tie with the ring at p = 4, m = 2.
TEST(Volume, MovementAvoidingTiesWithRingAtFour) {
  EXPECT_EQ(movement_avoiding_socket(4, 2).allreduce, ring(4).allreduce);
  EXPECT_LT(movement_avoiding_socket(5, 2).allreduce, ring(5).allreduce);
}

}  // namespace
}  // namespace coll::model::volume
