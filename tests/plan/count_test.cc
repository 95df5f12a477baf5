// SPDX-License-Identifier: BSD-3-Clause
// Compares the counters with counts made by hand.
#include <cmath>

#include "plan/count.h"

#include <gtest/gtest.h>

#include "plans.h"

namespace coll::plan {
namespace {

constexpr uint64_t s = 8 * 64;  // the vector: eight elements of 64 bytes

TEST(Count, AFlatBroadcastReadsTheRootOncePerReader) {
  Plan plan = testing::flat_bcast(5, 2, 4 * 64);
  for (AccessMode access : {AccessMode::direct, AccessMode::remote}) {
    Counts direct = count(plan, 8, 64, access);
    EXPECT_EQ(direct.problem, "");
    EXPECT_EQ(direct.total.loaded, 4 * s);
    EXPECT_EQ(direct.total.stored, 4 * s);
    EXPECT_EQ(direct.ranks[2].total(), 0u) << "the root only announces";
    EXPECT_EQ(direct.ranks[0].loaded, s);
  }
  Counts staged = count(plan, 8, 64, AccessMode::staged);
  EXPECT_EQ(staged.total.loaded, 5 * s) << "the root copies into its slots";
  EXPECT_EQ(staged.ranks[2].stored, s);
}

TEST(Count, AFlatBroadcastIsOneMessagePerReader) {
  Plan plan = testing::flat_bcast(5, 2, 4 * 64);
  // Classes: 0 for neighbours, 1 for the rest; 1 and 3 are neighbours of 2.
  Counts counts = count(plan, 8, 64, AccessMode::direct, [](int a, int b) { return uint8_t(std::abs(a - b) > 1); });
  ASSERT_EQ(counts.by_distance.size(), 2u);
  EXPECT_EQ(counts.by_distance[0].messages, 2u);
  EXPECT_EQ(counts.by_distance[0].bytes, 2 * s);
  EXPECT_EQ(counts.by_distance[1].messages, 2u);
  EXPECT_EQ(counts.messages, 4u);
}

TEST(Count, AChainStoresTwiceWhenStaged) {
  Plan plan = testing::chain_bcast(4, 0, 4 * 64);
  Counts direct = count(plan, 8, 64, AccessMode::direct);
  EXPECT_EQ(direct.total.loaded, 3 * s);
  EXPECT_EQ(direct.total.stored, 3 * s);
  Counts staged = count(plan, 8, 64, AccessMode::staged);
  EXPECT_EQ(staged.total.loaded, 4 * s) << "the root's copy, then one load per hop";
  EXPECT_EQ(staged.total.stored, (1 + 2 + 2 + 1) * s) << "those between keep it and pass it on";
  EXPECT_EQ(staged.messages, 3u);
}

TEST(Count, AnAllreduceByBlocksMovesThreePMinusOneVectors) {
  const int p = 4;
  Plan plan = testing::block_allreduce(p, 4 * 64);
  Counts mapped = count(plan, 8, 64, AccessMode::direct);
  // Reduction: p loads and one store of each block; gathering: each rank loads and stores p - 1 blocks.
  EXPECT_EQ(mapped.total.loaded, (p + p - 1) * s);
  EXPECT_EQ(mapped.total.stored, (1 + p - 1) * s);
  EXPECT_EQ(mapped.total.total(), (3 * p - 1) * s);
  EXPECT_EQ(mapped.messages, uint64_t(p * (p - 1)));

  Counts kernel = count(plan, 8, 64, AccessMode::remote);
  // The kernel copies p - 1 of the p operands of every block: one more load and store each.
  EXPECT_EQ(kernel.total.total(), (3 * p - 1 + 2 * (p - 1)) * s);

  Counts staged = count(plan, 8, 64, AccessMode::staged);
  // Every input is copied into slots, every result is stored twice.
  EXPECT_EQ(staged.total.total(), (3 * p - 1 + 2 * p + 1) * s);
}

TEST(Count, DataThatIsAlreadyInPlaceIsNotMoved) {
  Builder b(Collective::allreduce, "alone", 1, 0);
  uint16_t all = b.range({});
  b.lane(0).copy(all, own_recv(), own_send());
  Plan plan = b.finish();
  EXPECT_EQ(count(plan, 8, 64, AccessMode::direct).total.total(), 2 * s);
  EXPECT_EQ(count(plan, 8, 64, AccessMode::direct, {}, true).total.total(), 0u) << "in place";
}

TEST(Count, StepsAreCountedForEveryIterationOfEveryLane) {
  Plan plan = testing::flat_bcast(2, 0, 4 * 64);
  // Root: publish, loop, 2 passes of (wait, copy, post, end), wait. Reader: loop, 2 passes of (wait, copy, post, end).
  EXPECT_EQ(count(plan, 8, 64, AccessMode::direct).steps, (2u + 2 * 4 + 1) + (1 + 2 * 4));
}

TEST(Count, LargeVectorsCostNoMemory) {
  Counts counts = count(testing::chain_bcast(64, 0, 1 << 20), size_t(1) << 33, 1, AccessMode::direct);
  EXPECT_EQ(counts.total.loaded, uint64_t(63) << 33);
}

TEST(Count, RefusesPlansThatCannotRun) {
  Plan plan = testing::flat_bcast(2, 0, 4 * 64);
  plan.programs[0].lanes.clear();
  EXPECT_NE(count(plan, 8, 64, AccessMode::direct).problem.find("deadlock"), std::string::npos);
  plan.programs.clear();
  EXPECT_NE(count(plan, 8, 64, AccessMode::direct).problem, "");
}

}  // namespace
}  // namespace coll::plan
