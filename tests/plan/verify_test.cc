// SPDX-License-Identifier: BSD-3-Clause
// The verifier accepts right plans.
#include "plan/verify.h"

#include <gtest/gtest.h>

#include "plans.h"

namespace coll::plan {
namespace {

// Around the boundaries of chunks of `chunk` elements.
std::vector<size_t> counts(size_t chunk) { return {0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 5 * chunk + 1}; }

TEST(Verify, AcceptsABroadcastThatReadsTheRoot) {
  for (int ranks : {1, 2, 3, 5, 8})
    for (int root = 0; root < ranks; ++root)
      for (size_t count : counts(4)) {
        Plan plan = testing::flat_bcast(ranks, root, 4 * 64);
        Verdict verdict = verify(plan, {.count = count});
        EXPECT_TRUE(verdict.ok) << verdict.problem;
      }
}

TEST(Verify, AcceptsAChainThatForwards) {
  for (int ranks : {2, 3, 5})
    for (int root = 0; root < ranks; ++root)
      for (size_t count : counts(3)) {
        Verdict verdict = verify(testing::chain_bcast(ranks, root, 3 * 64), {.count = count});
        EXPECT_TRUE(verdict.ok) << verdict.problem;
      }
}

TEST(Verify, AcceptsAnAllreduceByBlocksInPlaceAndNot) {
  for (int ranks : {1, 2, 3, 7})
    for (bool in_place : {false, true})
      for (size_t count : counts(8)) {
        Verdict verdict = verify(testing::block_allreduce(ranks, 8 * 64), {.count = count, .in_place = in_place});
        EXPECT_TRUE(verdict.ok) << verdict.problem;
        EXPECT_EQ(verdict.association, Association::balanced);
      }
}

TEST(Verify, AcceptsTwoLanesPerRank) {
  for (int ranks : {2, 3, 6})
    for (bool in_place : {false, true})
      for (size_t count : counts(4)) {
        Verdict verdict = verify(testing::two_lane_allreduce(ranks, 4 * 64), {.count = count, .in_place = in_place});
        EXPECT_TRUE(verdict.ok) << verdict.problem;
      }
}

TEST(Verify, AcceptsABarrierAndSeesThatItSynchronizes) {
  for (int ranks : {1, 2, 3, 4, 13, 64}) {
    Verdict verdict = verify(testing::dissemination(ranks), {});
    EXPECT_TRUE(verdict.ok) << verdict.problem;
    EXPECT_TRUE(verdict.synchronizes);
  }
  EXPECT_FALSE(verify(testing::flat_bcast(4, 0, 256), {.count = 4}).synchronizes)
      << "a reader does not wait for other readers";
}

TEST(Verify, TriesEverySetOfDecisionsUnderEverySchedule) {
  Plan plan = testing::flat_bcast(4, 0, 256);
  VerifyOptions options{.count = 20, .mixtures = 3, .adversaries = false, .interleavings = 5};
  Verdict verdict = verify(plan, options);
  EXPECT_TRUE(verdict.ok) << verdict.problem;
  EXPECT_EQ(verdict.interleavings, (2u + 3u) * (1u + 5u));
  options.adversaries = true;
  EXPECT_EQ(verify(plan, options).interleavings, (2u + 3u) * (1u + 6u + 5u));
}

TEST(Verify, DoesNotDependOnTheSizeOfElements) {
  for (size_t element_bytes : {1, 2, 4, 8, 16, 24, 64}) {
    for (size_t count : {size_t(0), size_t(1), size_t(100), size_t(257)}) {
      Verdict bcast = verify(testing::chain_bcast(3, 1, 256), {.count = count, .element_bytes = element_bytes});
      EXPECT_TRUE(bcast.ok) << bcast.problem;
      Verdict allreduce =
          verify(testing::block_allreduce(3, 512), {.count = count, .element_bytes = element_bytes, .in_place = true});
      EXPECT_TRUE(allreduce.ok) << allreduce.problem;
    }
  }
}

}  // namespace
}  // namespace coll::plan
