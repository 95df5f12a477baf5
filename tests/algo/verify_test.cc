// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm is correct: for every number of ranks, root and size, in place or not, for staged and direct views.
#include <gtest/gtest.h>

#include "../seed.h"
#include "requests.h"

namespace coll::algo {
namespace {

using plan::Association;
using plan::Collective;

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm*> {
 protected:
  const Algorithm& algorithm() const { return *GetParam(); }
  bool rooted() const { return is_rooted(algorithm().collective); }
  bool reduces() const { return is_reduction(algorithm().collective); }
  bool can_be_in_place() const {
    switch (algorithm().collective) {
      case Collective::barrier:
      case Collective::bcast:
      case Collective::alltoall:
      case Collective::reduce_scatter: return false;
      default: return true;
    }
  }

  void expect_right(const topo::Hierarchy& hierarchy, int root, const Parameters& parameters,
                    plan::VerifyOptions options) {
    const plan::Plan plan = algorithm().make(
        {.hierarchy = &hierarchy, .root = root, .irregular = !options.pieces.empty(), .parameters = parameters});
    const plan::Verdict verdict = plan::verify(plan, options);
    ASSERT_TRUE(verdict.ok) << testing::label(plan, options) << ": " << verdict.problem;
    if (algorithm().collective == Collective::barrier || algorithm().collective == Collective::allreduce) {
      EXPECT_TRUE(plan.synchronizing) << testing::label(plan, options);
    }
    if (!reduces()) return;
    if (algorithm().balanced) {
      EXPECT_TRUE(plan.balanced) << testing::label(plan, options);
      EXPECT_EQ(verdict.association, Association::balanced) << testing::label(plan, options);
    }
  }
};

TEST_P(EveryAlgorithm, UpToSixteenRanks) {
  uint64_t seed = test::seed();
#if defined(__SANITIZE_ADDRESS__)
  const std::vector<int> nodes = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16};
#else
  const std::vector<int> nodes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
#endif
  for (int ranks : nodes) {
    const topo::Hierarchy machines[] = {topo::Hierarchy::flat(ranks), testing::machine(ranks, 2, 2, 3),
                                        testing::machine(ranks, 2, 2, 4, true)};
    const int machines_count = algorithm().reads.hierarchy ? 3 : 1;
    for (int m = 0; m < machines_count; ++m)
      for (int root = 0; root < (rooted() ? ranks : 1); ++root)
        for (size_t count : {size_t(0), size_t(1), size_t(3), size_t(4), size_t(5), size_t(2 * ranks + 1)})
          for (bool in_place : {false, true}) {
            if (in_place && !can_be_in_place()) continue;
            expect_right(machines[m], root, testing::small(count == 5 ? 1 : 2, count == 4 ? 1 : 2),
                         {.count = count,
                          .in_place = in_place,
                          .mixtures = 1,
                          .adversaries = ranks <= 4,
                          .interleavings = 1,
                          .seed = seed++});
            if (HasFatalFailure()) return;
          }
  }
}

// Numbers of ranks around those at which trees, folds and groups change, up to a full node; roots at the ends and in
// the middle.
TEST_P(EveryAlgorithm, UpToSixtyFourRanks) {
#if defined(__SANITIZE_ADDRESS__)
  const std::vector<int> nodes = {17, 33};
#else
  const std::vector<int> nodes = {17, 24, 31, 33, 48, 63, 64};
#endif
  for (int ranks : nodes) {
    const topo::Hierarchy hierarchy = testing::machine(ranks, 2, 4, 8, ranks % 2 == 1);
    for (int root : {0, ranks / 3, ranks - 1}) {
      if (root != 0 && !rooted()) continue;
      expect_right(hierarchy, root, testing::small(),
                   {.count = 5, .mixtures = 1, .adversaries = false, .interleavings = 0});
      expect_right(hierarchy, root, testing::small(1, 4, 3),
                   {.count = size_t(2 * ranks + 3),
                    .in_place = can_be_in_place(),
                    .mixtures = 1,
                    .adversaries = false,
                    .interleavings = 1});
      if (HasFatalFailure()) return;
    }
  }
}

// More ranks than any node of the papers; movement avoiding then splits its group.
TEST_P(EveryAlgorithm, OneHundredAndThirtyRanks) {
  const topo::Hierarchy hierarchy = testing::machine(130, 2, 1, 65);
  expect_right(hierarchy, rooted() ? 100 : 0, testing::small(),
               {.count = 6, .direct = false, .mixtures = 0, .adversaries = false, .interleavings = 0});
}

// All blocks empty; then blocks from empty to several rings, in various orders.
TEST_P(EveryAlgorithm, UnequalBlocks) {
  if (!algorithm().irregular) return;
  uint64_t seed = test::seed();
#if defined(__SANITIZE_ADDRESS__)
  const std::vector<int> nodes = {1, 2, 3, 5, 8, 33};
#else
  const std::vector<int> nodes = {1, 2, 3, 4, 5, 7, 8, 13, 33, 64};
#endif
  for (int ranks : nodes) {
    const topo::Hierarchy hierarchy = testing::machine(ranks, 2, 2, (ranks + 3) / 4);
    for (int root = 0; root<(rooted() ? ranks : 1); root += ranks> 13 ? 9 : 1)
      for (int longest : {0, 2, 5, 14}) {
        const bool pairs = algorithm().collective == Collective::alltoall;
        if (pairs && longest == 14 && ranks > 13) continue;
        std::vector<size_t> pieces(size_t(pairs ? ranks * ranks : ranks));
        for (size_t i = 0; i < pieces.size(); ++i)
          pieces[i] = (i + seed) % 3 == 0 ? 0 : (i * 40503 + seed * 7919) / 5 % size_t(longest + 1);
        expect_right(hierarchy, root, testing::small(2, 2, uint16_t(1 + seed % 3)),
                     {.pieces = pieces,
                      .in_place = can_be_in_place() && seed % 2 == 0,
                      .mixtures = 1,
                      .adversaries = ranks <= 4,
                      .interleavings = 1,
                      .seed = seed});
        if (HasFatalFailure()) return;
        ++seed;
      }
  }
}

// Elements that fill a cache line, share one, or do not divide it; slices and blocks then end inside a line.
TEST_P(EveryAlgorithm, ElementsOfManySizes) {
  for (int ranks : {2, 3, 6, 8}) {
    const topo::Hierarchy hierarchy = testing::machine(ranks, 2, 2, 2);
    for (size_t element_bytes : {size_t(1), size_t(4), size_t(8), size_t(12), size_t(16), size_t(64), size_t(160)})
      for (size_t bytes : {size_t(8), size_t(128), size_t(200), size_t(500)}) {
        expect_right(hierarchy, rooted() ? ranks - 1 : 0, testing::small(3),
                     {.count = bytes / element_bytes,
                      .element_bytes = element_bytes,
                      .mixtures = 1,
                      .adversaries = false,
                      .interleavings = 0});
        if (HasFatalFailure()) return;
      }
  }
}

TEST_P(EveryAlgorithm, EveryParameter) {
  const topo::Hierarchy hierarchy = testing::machine(12, 2, 2, 3);
  for (uint16_t depth : {uint16_t(1), uint16_t(2), uint16_t(4), uint16_t(16)})
    for (uint16_t k : {uint16_t(1), uint16_t(3), uint16_t(20)})
      for (const std::vector<uint32_t>& levels :
           {std::vector<uint32_t>{}, {64, 128, 256}, {512, 64}, {64}, {256, 256, 32}}) {
        Parameters parameters = testing::small(1, depth, k);
        parameters.level_chunk_bytes = levels;
        expect_right(hierarchy, rooted() ? 7 : 0, parameters,
                     {.count = 21, .element_bytes = 32, .mixtures = 3, .adversaries = false, .interleavings = 1});
        if (HasFatalFailure()) return;
      }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, ::testing::ValuesIn([] {
                           std::vector<const Algorithm*> all;
                           for (const Algorithm& algorithm : algorithms()) all.push_back(&algorithm);
                           return all;
                         }()),
                         [](const auto& info) {
                           return std::string(plan::name(info.param->collective)) + "_" + std::string(info.param->name);
                         });

}  // namespace
}  // namespace coll::algo
