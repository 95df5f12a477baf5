// SPDX-License-Identifier: BSD-3-Clause
// Candidates: the best comes first, each choice occurs once, all give the same bits; and one choice is fast.
#include "model/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "machines.h"

namespace coll::model {
namespace {

constexpr Mechanism cma_or_staged[] = {Mechanism::cma, Mechanism::shared_memory};

TEST(Candidates, AreBestFirstAndEachChoiceOnce) {
  const testing::Placed on("epyc-2p", 64);
  const Prices prices(on.table, on.hierarchy, cma_or_staged);
  for (int c = 0; c < plan::collectives; ++c)
    for (double bytes : {64.0, 5000.0, 262144.0, 8388608.0}) {
      const Call call{.collective = plan::Collective(c), .bytes = bytes, .element_bytes = 4};
      const std::vector<Candidate> all = prices.candidates(call);
      ASSERT_FALSE(all.empty()) << plan::name(call.collective);
      std::set<std::tuple<const algo::Algorithm*, Mechanism>> seen;
      float before = 0;
      for (const Candidate& candidate : all) {
        EXPECT_TRUE(seen.insert({candidate.algorithm, candidate.mechanism}).second) << candidate.algorithm->name;
        EXPECT_EQ(candidate.algorithm->collective, call.collective);
        EXPECT_TRUE(candidate.algorithm->balanced);
        EXPECT_TRUE(candidate.algorithm->applies({.hierarchy = &on.hierarchy})) << candidate.algorithm->name;
        EXPECT_TRUE(candidate.algorithm->max_bytes == 0 || bytes <= double(candidate.algorithm->max_bytes));
        // Prices that differ in the last bits only count as equal.
        EXPECT_TRUE(std::isfinite(candidate.us) && float(candidate.us) >= before) << candidate.algorithm->name;
        EXPECT_DOUBLE_EQ(candidate.us, prices.us(candidate, call)) << candidate.algorithm->name;
        before = float(candidate.us);
      }
    }
}

TEST(Candidates, ShortAndStagedVectorsDoNotNameTheKernel) {
  const testing::Placed on("epyc-2p", 64);
  const Prices prices(on.table, on.hierarchy, cma_or_staged);
  for (const Candidate& candidate : prices.candidates({plan::Collective::bcast, 512, 1}))
    EXPECT_EQ(candidate.mechanism, Mechanism::shared_memory) << candidate.algorithm->name;
  for (const Candidate& candidate : prices.candidates({plan::Collective::bcast, 1 << 20, 1}))
    EXPECT_TRUE(candidate.algorithm->name != "shm_pipelined" || candidate.mechanism == Mechanism::shared_memory);
}

TEST(Candidates, PartialResultsOf16BitFloatsAreNotStored) {
  const testing::Placed on("epyc-1p", 32);
  const Prices prices(on.table, on.hierarchy, cma_or_staged);
  for (const Candidate& candidate : prices.candidates({plan::Collective::allreduce, 65536, 2}))
    EXPECT_FALSE(candidate.algorithm->stores_partials) << candidate.algorithm->name;
}

// A price includes the part that no algorithm avoids: the memory of a node cannot store faster than its links allow.
TEST(Candidates, NoneIsFasterThanTheMemory) {
  const testing::Placed on("epyc-1p", 32);
  constexpr Mechanism mapped[] = {Mechanism::mapped};
  const Prices prices(on.table, on.hierarchy, mapped);
  const double bytes = 64 << 20;  // of each rank; eight share a node; stores fetch the line first
  const double least_us = 8 * bytes / bytes_per_us(on.table.links.memory_gbs);
  EXPECT_GE(prices.candidates({plan::Collective::bcast, bytes, 1}).front().us, least_us);
}

}  // namespace
}  // namespace coll::model
