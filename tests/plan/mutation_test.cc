// SPDX-License-Identifier: BSD-3-Clause
// Measures which faults escape the verifier: every wait and every post of correct plans is damaged by every mutation
// below, one at a time. The verifier must refuse all mutants except those that leave the plan right; these are listed,
// and it must accept them.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "plan/verify.h"
#include "plan/words.h"
#include "plans.h"

namespace coll::plan {
namespace {

enum class Mutation { drop, lower, raise, earlier, later };
const std::map<Mutation, const char*> names = {{Mutation::drop, "drop"},
                                               {Mutation::lower, "lower"},
                                               {Mutation::raise, "raise"},
                                               {Mutation::earlier, "earlier"},
                                               {Mutation::later, "later"}};

// Moves a step, but not out of its loop, nor past a step of the same kind, which would change nothing.
bool move(std::vector<Step>& steps, size_t at, bool earlier) {
  if (earlier ? at == 0 : at + 1 == steps.size()) return false;
  Step& other = steps[earlier ? at - 1 : at + 1];
  if (other.kind == Kind::loop || other.kind == Kind::end || other.kind == steps[at].kind) return false;
  std::swap(steps[at], other);
  return true;
}

// Returns false if the mutation does not apply to this step.
bool apply(std::vector<Step>& steps, size_t at, Mutation mutation) {
  Step& step = steps[at];
  bool post = step.kind == Kind::post;
  switch (mutation) {
    case Mutation::drop:
      step.kind = Kind::wait;  // for a value that is already reached
      step.value = -1000000;
      step.add = Add::nothing;
      step.rank = 0;
      return true;
    case Mutation::lower: step.value -= 1; return true;
    case Mutation::raise: step.value += 1; return true;
    // Moving a post down or a wait up can only add order.
    case Mutation::earlier: return post && move(steps, at, true);
    case Mutation::later: return !post && move(steps, at, false);
  }
  return false;
}

// Returns which mutants are still right.
using Harmless = std::function<bool(const Plan&, int rank, const Step&, Mutation)>;

// Counts of mutants.
int mutate(const Plan& plan, const VerifyOptions& options, const Harmless& harmless) {
  int mutants = 0;
  EXPECT_TRUE(verify(plan, options).ok) << verify(plan, options).problem;
  for (int rank = 0; rank < plan.ranks; ++rank)
    for (size_t lane = 0; lane < plan.programs[size_t(rank)].lanes.size(); ++lane)
      for (size_t at = 0; at < plan.programs[size_t(rank)].lanes[lane].steps.size(); ++at)
        for (auto [mutation, name] : names) {
          const Step& step = plan.programs[size_t(rank)].lanes[lane].steps[at];
          if (step.kind != Kind::wait && step.kind != Kind::post) continue;
          Plan mutant = plan;
          if (!apply(mutant.programs[size_t(rank)].lanes[lane].steps, at, mutation)) continue;
          ++mutants;
          Verdict verdict = verify(mutant, options);
          EXPECT_EQ(verdict.ok, harmless(plan, rank, step, mutation))
              << name << " rank " << rank << " lane " << lane << " step " << at << " " << words(plan, rank, step)
              << ": " << verdict.problem;
        }
  return mutants;
}

// Waiting for a free slot one iteration earlier than needed is slower, but not wrong.
bool stricter_about_slots(const Plan&, int, const Step& step, Mutation mutation) {
  return mutation == Mutation::raise && step.kind == Kind::wait && step.add == Add::index && step.value < 0;
}

TEST(Mutation, OfAFlatBroadcast) {
  EXPECT_GE(mutate(testing::flat_bcast(3, 1, 4 * 64), {.count = 17}, stricter_about_slots), 30);
}

TEST(Mutation, OfAChain) {
  EXPECT_GE(mutate(testing::chain_bcast(4, 2, 4 * 64), {.count = 17}, stricter_about_slots), 40);
}

TEST(Mutation, OfAnAllreduceByBlocks) {
  for (bool in_place : {false, true}) {
    // Blocks of two elements, and of one in the last chunk: none is empty.
    int mutants = mutate(testing::block_allreduce(3, 6 * 64), {.count = 17, .in_place = in_place},
                         [](const Plan&, int, const Step& step, Mutation mutation) {
                           // The last post may claim more than any rank waits for.
                           return mutation == Mutation::raise && step.kind == Kind::post && step.add == Add::nothing;
                         });
    EXPECT_GE(mutants, 50);
  }
}

TEST(Mutation, OfTwoLanes) {
  EXPECT_GE(mutate(testing::two_lane_allreduce(4, 4 * 64), {.count = 17}, stricter_about_slots), 50);
}

TEST(Mutation, OfABarrier) {
  // Eight ranks: with a power of two no round is redundant.
  int mutants = mutate(testing::dissemination(8), {}, [](const Plan&, int, const Step& step, Mutation mutation) {
    const int32_t last_round = 3;
    if (step.kind == Kind::wait) return mutation == Mutation::raise && step.value < last_round;  // stricter
    // A later round's post can replace an earlier one; the last one may claim more than any rank waits for.
    if (step.value < last_round) return mutation == Mutation::drop || (mutation == Mutation::lower && step.value > 1);
    return mutation == Mutation::raise;
  });
  EXPECT_GE(mutants, 100);
}

}  // namespace
}  // namespace coll::plan
