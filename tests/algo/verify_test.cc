// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm is right: for every number of ranks, root and size, in place or not, whatever the owners decide.
#include <gtest/gtest.h>

#include "requests.h"

namespace coll::algo {
namespace {

using plan::Association;
using plan::Collective;

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm*> {
 protected:
  const Algorithm& algorithm() const { return *GetParam(); }
  bool rooted() const {
    return algorithm().collective == Collective::bcast || algorithm().collective == Collective::reduce;
  }
  bool reduces() const {
    return algorithm().collective == Collective::reduce || algorithm().collective == Collective::allreduce;
  }
  bool can_be_in_place() const { return reduces(); }

  void expect_right(const topo::Hierarchy& hierarchy, int root, const Parameters& parameters, plan::VerifyOptions options) {
    const plan::Plan plan = algorithm().make({.hierarchy = &hierarchy, .root = root, .parameters = parameters});
    const plan::Verdict verdict = plan::verify(plan, options);
    ASSERT_TRUE(verdict.ok) << testing::label(plan, options) << ": " << verdict.problem;
    if (algorithm().collective == Collective::barrier || algorithm().collective == Collective::allreduce) {
      EXPECT_TRUE(plan.synchronizing) << testing::label(plan, options);
    }
    if (!reduces()) return;
    if (algorithm().rank_order) {
      EXPECT_NE(verdict.association, Association::any_order) << testing::label(plan, options);
    }
    if (algorithm().left_to_right) {
      EXPECT_TRUE(plan.rank_order) << testing::label(plan, options);
      EXPECT_EQ(verdict.association, Association::left_fold) << testing::label(plan, options);
    }
  }
};

TEST_P(EveryAlgorithm, UpToSixteenRanks) {
  uint64_t seed = 1;
  for (int ranks = 1; ranks <= 16; ++ranks) {
    const topo::Hierarchy machines[] = {topo::Hierarchy::flat(ranks), testing::machine(ranks, 2, 2, 3),
                                        testing::machine(ranks, 2, 2, 4, true)};
    const int machines_count = algorithm().reads.hierarchy ? 3 : 1;
    for (int m = 0; m < machines_count; ++m)
      for (int root = 0; root < (rooted() ? ranks : 1); ++root)
        for (size_t count : {size_t(0), size_t(1), size_t(3), size_t(4), size_t(5), size_t(2 * ranks + 1)})
          for (bool in_place : {false, true}) {
            if (in_place && !can_be_in_place()) continue;
            expect_right(machines[m], root, testing::small(count == 5 ? 1 : 2, count == 4 ? 1 : 2),
                         {.count = count, .in_place = in_place, .mixtures = 1, .adversaries = ranks <= 4, .interleavings = 1,
                          .seed = seed++});
            if (HasFatalFailure()) return;
          }
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
