// SPDX-License-Identifier: BSD-3-Clause
// The candidates of a rule after the first one, which auto-tuning times as alternatives.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tune/select.h"

namespace coll::tune {
namespace {

using plan::Collective;

std::optional<Choice> alternative(const Situation& situation) {
  const std::vector<Choice> all = Selector().shipped(situation).alternatives;
  return all.empty() ? std::nullopt : std::optional(all.front());
}

Situation of_two(Collective collective, size_t bytes) {
  return {.collective = collective, .bytes = bytes, .element_bytes = 4, .ranks = 2, .core_cache_bytes = 1 << 20};
}

TEST(Alternatives, OfDataMovementIsCmaOrStaging) {
  Situation situation = of_two(Collective::scatter, 1 << 20);
  EXPECT_FALSE(alternative(situation).has_value());  // CMA does not work
  for (const double kernel_times : {0.5, 10.0}) {
    situation.cma_times = kernel_times;
    const std::optional<Choice> other = alternative(situation);
    ASSERT_TRUE(other.has_value());
    EXPECT_NE(other->kernel_copies, Selector().shipped(situation).choice.kernel_copies);
    EXPECT_EQ(other->kernel_copies, kernel_times > 1);
  }
}

TEST(Alternatives, OfPureFetchesHasShorterChunks) {
  for (const auto& [collective, below] : {std::pair(Collective::bcast, size_t(1) << 20), {Collective::exscan, 8 << 20}})
    for (const bool overwrites : {false, true})
      for (size_t bytes = 256 << 10; bytes <= 16 << 20; bytes *= 2) {
        SCOPED_TRACE(std::string(plan::name(collective)) + " of " + std::to_string(bytes));
        Situation situation = of_two(collective, bytes);
        situation.rfo_free = overwrites;
        const Choice usual = Selector().shipped(situation).choice;
        const std::optional<Choice> other = alternative(situation);
        ASSERT_EQ(other.has_value(), overwrites && bytes < below);
        if (!other.has_value()) continue;
        EXPECT_EQ(other->algorithm, usual.algorithm);
        EXPECT_LT(other->parameters.chunk_bytes, usual.parameters.chunk_bytes);
        EXPECT_EQ(other->parameters.chunk_bytes, 16u << 10);
        EXPECT_EQ(size_t(other->parameters.chunk_bytes) * other->parameters.depth,
                  std::min(situation.bytes, size_t(512) << 10));
      }
}

TEST(Alternatives, OfReductionsIsForMappedMemory) {
  Situation situation = of_two(Collective::reduce, 1 << 20);
  EXPECT_EQ(Selector().shipped(situation).choice.algorithm->name, "flat");
  ASSERT_TRUE(alternative(situation).has_value());
  EXPECT_EQ(alternative(situation)->algorithm->name, "fused");
  EXPECT_FALSE(alternative(situation)->kernel_copies);
  situation.collective = Collective::scan;  // uses the same algorithm for any memory
  EXPECT_FALSE(alternative(situation).has_value());
}

TEST(Alternatives, OfMappedMemoryIsForOther) {
  for (const Collective collective : {Collective::reduce, Collective::gather}) {
    Situation situation = of_two(collective, 1 << 20);
    situation.mapped = true;
    const std::optional<Choice> other = alternative(situation);
    ASSERT_TRUE(other.has_value());
    situation.mapped = false;
    EXPECT_EQ(other->algorithm, Selector().shipped(situation).choice.algorithm);
  }
}

// Both algorithms of a reduction round alike.
TEST(Alternatives, KeepsTheOrderOfOperands) {
  for (const Collective collective :
       {Collective::reduce, Collective::allreduce, Collective::reduce_scatter, Collective::scan, Collective::exscan})
    for (const int ranks : {2, 3, 8})
      for (const bool mapped : {false, true})
        for (const bool oversubscribed : {false, true})
          for (const size_t element_bytes : {2, 4})
            for (size_t bytes = 256 << 10; bytes <= 16 << 20; bytes *= 2) {
              const Situation situation{.collective = collective,
                                        .bytes = bytes,
                                        .element_bytes = element_bytes,
                                        .ranks = ranks,
                                        .oversubscribed = oversubscribed,
                                        .mapped = mapped};
              const std::optional<Choice> other = alternative(situation);
              if (!other.has_value()) continue;
              EXPECT_TRUE(other->algorithm->balanced);
              if (situation.rounds_partials()) { EXPECT_FALSE(other->algorithm->stores_partials); }
            }
}

}  // namespace
}  // namespace coll::tune
