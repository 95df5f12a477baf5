// SPDX-License-Identifier: BSD-3-Clause
// The shipped rules: all are valid, each has evidence, and every call has a choice. Several ranks on cores of their
// own.
#include "tune/shipped.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "tune/select.h"

namespace coll::tune {
namespace {

using plan::Collective;

Choice chosen(const Situation& situation) { return Selector().shipped(situation).choice; }

TEST(Shipped, EveryFileIsReadAndEveryNameIsDefined) {
  Book book;
  for (const RulesText& file : rules_texts) {
    const topo::Status read = book.add(file.text, file.name);
    EXPECT_TRUE(read.ok()) << read.text();
  }
  EXPECT_TRUE(book.check().ok()) << book.check().text();
  EXPECT_EQ(book.rules().size(), shipped().rules().size());
}

TEST(Shipped, EveryRuleHasEvidence) {
  for (const Rule& rule : shipped().rules()) {
    SCOPED_TRACE(rule.file + ":" + std::to_string(rule.line));
    const size_t comma = rule.evidence.rfind(", ");
    ASSERT_NE(comma, std::string::npos) << "write -- PROCESSOR, COMMIT";
    EXPECT_EQ(rule.evidence.find_first_not_of("0123456789abcdef", comma + 2), std::string::npos);
    EXPECT_GE(rule.evidence.size() - comma - 2, 7u);
  }
}

// For any facts some rule decides, and the plan fits the contract of the parameters.
TEST(Shipped, SomeRuleDecidesEveryCall) {
  for (int c = 0; c < plan::collectives; ++c)
    for (const int ranks : {1, 2, 3, 4, 8, 9, 16, 17, 33, 160, 256})
      for (size_t bytes = 1; bytes <= size_t(64) << 20; bytes = bytes * 3 + 1)
        for (int facts = 0; facts < 64; ++facts) {
          const Situation situation{.collective = Collective(c),
                                    .bytes = bytes,
                                    .element_bytes = facts & 1 ? 2u : 1u,
                                    .ranks = ranks,
                                    .levels = facts & 2 ? 2 : 1,
                                    .oversubscribed = (facts & 4) != 0,
                                    .cma_times = facts & 8 ? 3 : no_copy,
                                    .mapped = (facts & 16) != 0,
                                    .rfo_free = (facts & 32) != 0,
                                    .core_cache_bytes = size_t(1) << 20};
          const Selection selected = Selector().shipped(situation);
          ASSERT_NE(selected.choice.algorithm, nullptr) << plan::name(situation.collective) << ' ' << bytes;
          ASSERT_EQ(selected.choice.algorithm->collective, situation.collective);
          ASSERT_TRUE(std::has_single_bit(selected.choice.parameters.depth)) << text(selected);
          ASSERT_GE(selected.choice.parameters.chunk_bytes, 64u);
          if (plan::is_reduction(situation.collective)) { ASSERT_TRUE(selected.choice.algorithm->balanced); }
        }
}

// 24 KiB chunks in a ring of 512 KiB: the number of slots is a power of two, and they do not exceed the ring together.
TEST(Shipped, ARingIsNoLongerThanItsLimit) {
  std::vector<Range> ranges;
  ASSERT_EQ(parse_ranges(Collective::reduce, "flat:chunk=24K,ring=512K", ranges), "");
  const auto depth = [&](size_t bytes) {
    const Situation situation{.collective = Collective::reduce, .bytes = bytes, .ranks = 2};
    return made(ranges[0].candidates[0], situation, shipped(), false).parameters.depth;
  };
  EXPECT_EQ(depth(8 << 20), 16);  // 384 KiB
  EXPECT_EQ(depth(64 << 10), 4);  // for three chunks
  EXPECT_EQ(depth(24 << 10), 1);
}

// With staging the root copies for all ranks, or all ranks move everything twice.
TEST(Shipped, KernelCopiesPayAmongSeveralRanksOnCoresOfTheirOwn) {
  const auto copies = [](Collective collective, size_t bytes, int ranks, bool oversubscribed = false) {
    return chosen({.collective = collective,
                   .bytes = bytes,
                   .ranks = ranks,
                   .oversubscribed = oversubscribed,
                   .cma_times = 3})
        .kernel_copies;
  };
  for (const Collective collective : {Collective::scatter, Collective::gather}) {
    EXPECT_FALSE(copies(collective, 128 << 10, 4));
    EXPECT_TRUE(copies(collective, 256 << 10, 4));
    EXPECT_FALSE(copies(collective, 32 << 10, 16));
    EXPECT_TRUE(copies(collective, 64 << 10, 16));
    EXPECT_FALSE(copies(collective, 256 << 10, 4, true));
    EXPECT_FALSE(copies(collective, 256 << 10, 64));
  }
  EXPECT_FALSE(copies(Collective::alltoall, 32 << 10, 8));
  EXPECT_TRUE(copies(Collective::alltoall, 64 << 10, 8));
}

TEST(Shipped, ManyRanksForwardScansInShortChunks) {
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    const Choice choice = chosen({.collective = collective, .bytes = 64 << 10, .element_bytes = 4, .ranks = 16});
    EXPECT_EQ(choice.algorithm->name, "sklansky");
    EXPECT_EQ(choice.parameters.chunk_bytes, 16 << 10);
  }
}

TEST(Shipped, ManyRanksCollectShortBlocksFromTheirSources) {
  Situation situation{.collective = Collective::allgather, .bytes = 4 << 10, .ranks = 4};
  EXPECT_EQ(chosen(situation).algorithm->name, "recursive_doubling");
  situation.ranks = 16;
  EXPECT_EQ(chosen(situation).algorithm->name, "ring_source_read");
}

}  // namespace
}  // namespace coll::tune
