// SPDX-License-Identifier: BSD-3-Clause
// The second way to make a call, which auto-tuning times beside the usual one.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "model/choose.h"
#include "model/select.h"

namespace coll::model {
namespace {

using plan::Collective;

Question of_two(Collective collective, size_t bytes) {
  return {.collective = collective, .bytes = bytes, .element_bytes = 4, .ranks = 2, .core_cache_bytes = 1 << 20};
}

TEST(OtherWay, OfMovesIsByKernelCopiesOrByStaging) {
  const Selector selector;
  Question question = of_two(Collective::scatter, 1 << 20);
  EXPECT_FALSE(selector.other_way(question).has_value());  // kernel copies do not work
  for (const double kernel_times : {0.5, 10.0}) {
    question.kernel_times = kernel_times;
    const std::optional<Choice> other = selector.other_way(question);
    ASSERT_TRUE(other.has_value());
    EXPECT_NE(other->kernel_copies, selector.builtin(question).kernel_copies);
    EXPECT_EQ(other->kernel_copies, kernel_times > 1);
  }
}

TEST(OtherWay, OfWhatOneOnlyFetchesIsInShorterPieces) {
  const Selector selector;
  for (const auto& [collective, below] : {std::pair(Collective::bcast, size_t(1) << 20), {Collective::exscan, 8 << 20}})
    for (const bool overwrites : {false, true})
      for (size_t bytes = 256 << 10; bytes <= 16 << 20; bytes *= 2) {
        SCOPED_TRACE(std::string(plan::name(collective)) + " of " + std::to_string(bytes));
        Question question = of_two(collective, bytes);
        question.overwrites = overwrites;
        const Choice usual = selector.builtin(question);
        const std::optional<Choice> other = selector.other_way(question);
        ASSERT_EQ(other.has_value(), overwrites && bytes < below);
        if (!other.has_value()) continue;
        EXPECT_EQ(other->algorithm, usual.algorithm);
        EXPECT_LT(other->parameters.chunk_bytes, usual.parameters.chunk_bytes);
        EXPECT_EQ(other->parameters.chunk_bytes, 16u << 10);
        EXPECT_EQ(size_t(other->parameters.chunk_bytes) * other->parameters.depth,
                  std::min(question.bytes, size_t(512) << 10));
      }
}

TEST(OtherWay, OfReductionsIsForMappedMemory) {
  const Selector selector;
  Question question = of_two(Collective::reduce, 1 << 20);
  EXPECT_EQ(selector.builtin(question).algorithm->name, "flat");
  ASSERT_TRUE(selector.other_way(question).has_value());
  EXPECT_EQ(selector.other_way(question)->algorithm->name, "fused");
  EXPECT_FALSE(selector.other_way(question)->kernel_copies);
  question.collective = Collective::scan;  // goes one way whatever the memory
  EXPECT_FALSE(selector.other_way(question).has_value());
}

TEST(OtherWay, OfMappedMemoryIsForOther) {
  const Selector selector;
  for (const Collective collective : {Collective::reduce, Collective::gather}) {
    Question question = of_two(collective, 1 << 20);
    question.mapped = true;
    const std::optional<Choice> other = selector.other_way(question);
    ASSERT_TRUE(other.has_value());
    question.mapped = false;
    EXPECT_EQ(other->algorithm, selector.builtin(question).algorithm);
  }
}

// Both ways of a reduction round alike.
TEST(OtherWay, KeepsTheOrderOfOperands) {
  const Selector selector;
  for (const Collective collective :
       {Collective::reduce, Collective::allreduce, Collective::reduce_scatter, Collective::scan, Collective::exscan})
    for (const int ranks : {2, 3, 8})
      for (const bool mapped : {false, true})
        for (const bool crowded : {false, true})
          for (const size_t element_bytes : {2, 4})
            for (size_t bytes = 256 << 10; bytes <= 16 << 20; bytes *= 2) {
              const Question question{.collective = collective,
                                      .bytes = bytes,
                                      .element_bytes = element_bytes,
                                      .ranks = ranks,
                                      .crowded = crowded,
                                      .mapped = mapped};
              const std::optional<Choice> other = selector.other_way(question);
              if (!other.has_value()) continue;
              EXPECT_TRUE(other->algorithm->balanced);
              if (rounds_partials(element_bytes)) { EXPECT_FALSE(other->algorithm->stores_partials); }
            }
}

}  // namespace
}  // namespace coll::model
