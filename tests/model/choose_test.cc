// SPDX-License-Identifier: BSD-3-Clause
// Built-in defaults for several ranks on cores of their own.
#include "model/choose.h"

#include <gtest/gtest.h>

namespace coll::model {
namespace {

using plan::Collective;

// With staging the root copies for all of them, or all move everything twice.
TEST(Choose, KernelCopiesPayAmongSeveralRanksOnCoresOfTheirOwn) {
  const auto copies = [](Collective collective, size_t bytes, int ranks, bool crowded = false) {
    return choose({.collective = collective, .bytes = bytes, .ranks = ranks, .kernel_times = 3, .crowded = crowded})
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

TEST(Choose, ManyRanksPassScansOnInShortChunks) {
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    const Choice choice = choose({.collective = collective, .bytes = 64 << 10, .element_bytes = 4, .ranks = 16});
    EXPECT_EQ(choice.algorithm->name, "sklansky");
    EXPECT_EQ(choice.parameters.chunk_bytes, 16 << 10);
  }
}

TEST(Choose, ManyRanksCollectShortBlocksFromTheirSources) {
  Question question{.collective = Collective::allgather, .bytes = 4 << 10, .ranks = 4};
  EXPECT_EQ(choose(question).algorithm->name, "recursive_doubling");
  question.ranks = 16;
  EXPECT_EQ(choose(question).algorithm->name, "ring_source_read");
}

}  // namespace
}  // namespace coll::model
