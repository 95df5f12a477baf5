// SPDX-License-Identifier: BSD-3-Clause
// Collectives of blocks: the verifier accepts right plans, regular and irregular, and finds each planted fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pieces.h"
#include "plan/count.h"
#include "plan/verify.h"

namespace coll::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t chunk = 2 * 64;  // two elements of the default size

void expect_right(const Plan& plan, const VerifyOptions& options) {
  const Verdict verdict = verify(plan, options);
  EXPECT_TRUE(verdict.ok) << verdict.problem;
}

std::string problem(const Plan& plan, const VerifyOptions& options) { return verify(plan, options).problem; }

TEST(Pieces, AScatterIsRightForEveryRootInPlaceAndNot) {
  for (int ranks : {1, 2, 3, 5, 8})
    for (int root = 0; root < ranks; ++root)
      for (bool in_place : {false, true}) {
        for (size_t count : {0, 1, 2, 3, 4, 9})
          expect_right(testing::scatter(ranks, root, chunk), {.count = count, .in_place = in_place});
        expect_right(testing::scatter(ranks, root, chunk, true),
                     {.pieces = testing::lengths(size_t(ranks)), .in_place = in_place});
        expect_right(testing::scatter(ranks, root, chunk, true),
                     {.pieces = std::vector<size_t>(size_t(ranks)), .in_place = in_place});
      }
}

TEST(Pieces, AnAlltoallIsRight) {
  for (int ranks : {1, 2, 3, 4, 7}) {
    for (size_t count : {0, 1, 2, 3, 4, 9}) expect_right(testing::alltoall(ranks, chunk), {.count = count});
    expect_right(testing::alltoall(ranks, chunk, true), {.pieces = testing::lengths(size_t(ranks * ranks))});
  }
}

TEST(Pieces, AnAllgatherIsRightInPlaceAndNot) {
  for (int ranks : {1, 2, 5})
    for (bool in_place : {false, true}) {
      expect_right(testing::allgather(ranks), {.count = 5, .in_place = in_place});
      expect_right(testing::allgather(ranks, true), {.pieces = testing::lengths(size_t(ranks)), .in_place = in_place});
    }
}

TEST(Pieces, ACopyMayMoveSeveralBlocks) {
  for (int ranks : {1, 2, 5})
    for (int root = 0; root < ranks; ++root)
      for (bool in_place : {false, true})
        for (size_t count : {0, 1, 2, 5, 9})
          expect_right(testing::gather(ranks, root, chunk), {.count = count, .in_place = in_place});
}

TEST(Pieces, AReduceScatterIsRight) {
  for (int ranks : {1, 2, 5}) {
    expect_right(testing::reduce_scatter(ranks), {.count = 5});
    expect_right(testing::reduce_scatter(ranks, true), {.pieces = testing::lengths(size_t(ranks))});
  }
}

TEST(Pieces, ScansHoldTheRanksBelowInOrder) {
  for (Collective what : {Collective::scan, Collective::exscan})
    for (int ranks : {1, 2, 5, 66})
      for (bool in_place : {false, true}) {
        const Verdict verdict = verify(testing::prefix(what, ranks), {.count = 5, .in_place = in_place});
        EXPECT_TRUE(verdict.ok) << verdict.problem;
        EXPECT_EQ(verdict.association, Association::balanced);
      }
}

TEST(Pieces, AScanIsNoExscanAndViceVersa) {
  Plan plan = testing::prefix(Collective::scan, 3);
  plan.collective = Collective::exscan;
  EXPECT_THAT(problem(plan, {.count = 2}), HasSubstr("rank 0 of an exscan receives nothing"));
  plan = testing::prefix(Collective::exscan, 3);
  plan.collective = Collective::scan;
  EXPECT_THAT(problem(plan, {.count = 2}), HasSubstr("is undefined"));
}

TEST(Pieces, AThrottleIsKeptForAnyNumber) {
  for (int ranks : {2, 3, 6, 9})
    for (int k : {1, 2, 3, 4, 8})
      for (int root : {0, ranks - 1})
        expect_right(testing::scatter(ranks, root, chunk, false, k),
                     {.count = 5, .staged = false, .mixtures = 0, .interleavings = 20});
}

TEST(PlantedBug, OneAccessMoreThanTheThrottleAllows) {
  Plan plan = testing::scatter(6, 0, chunk, false, 3);
  plan.throttle = 2;
  EXPECT_THAT(problem(plan, {.count = 5, .staged = false}),
              AllOf(HasSubstr("one access too many to the buffers of rank 0"), HasSubstr("claims 2 at once")));
}

TEST(PlantedBug, AWriteWherePlansClaimToRead) {
  Plan plan = testing::scatter(3, 0, chunk);
  plan.direction = Direction::write;
  EXPECT_THAT(problem(plan, {.count = 5}), HasSubstr("reads another rank's buffer, and the plan claims only to write"));
}

TEST(PlantedBug, TwoReadersOfOneSenderInOneStep) {
  // All ranks begin with rank 0.
  Builder b(Collective::allgather, "all_from_0", 3, 0);
  const uint16_t data = b.view(Buffer::send, chunk);
  b.one_reader();
  for (int rank : b.ranks()) {
    auto lane = b.lane(rank);
    for (int s = 0; s < 3; ++s)
      lane.copy(b.range(testing::piece(s, any_rank, 0)), own_recv(s), s == rank ? own_send() : seen(data, s));
  }
  EXPECT_THAT(problem(b.finish(), {.count = 1}), HasSubstr("ranks 0 and 1 both read rank 2 in turn 2"));
}

TEST(PlantedBug, TheBlockOfAnotherRank) {
  Plan plan = testing::scatter(3, 0, chunk);
  for (Operand& operand : plan.programs[1].operands)
    if (operand.space == Space::view) operand.block = 2;
  EXPECT_THAT(problem(plan, {.count = 5, .staged = false, .mixtures = 0}), HasSubstr("holds element"));
}

TEST(PlantedBug, NoBlockWhereThereAreSome) {
  Plan plan = testing::alltoall(3, chunk);
  for (Operand& operand : plan.programs[1].operands) operand.block = no_block;
  EXPECT_THAT(problem(plan, {.count = 5}), HasSubstr("names no block"));
}

// The steps of a gather's root that copy several blocks.
template <class Change>
std::string changed_gather(Change change) {
  Plan plan = testing::gather(3, 0, chunk);
  for (Step& step : plan.programs[0].lanes[0].steps)
    if (step.blocks != 1) change(plan, step);
  return problem(plan, {.count = 5});
}

TEST(PlantedBug, BlocksThatDoNotExist) {
  EXPECT_THAT(changed_gather([](Plan&, Step& step) { step.blocks = 4; }), HasSubstr("moves blocks that do not exist"));
  EXPECT_THAT(changed_gather([](Plan&, Step& step) { step.blocks = 0; }), HasSubstr("moves blocks that do not exist"));
  EXPECT_THAT(changed_gather([](Plan& plan, Step& step) { plan.programs[0].operands[step.operand].block = 1; }),
              HasSubstr("moves blocks that do not exist"));
}

TEST(PlantedBug, BlocksOfWhichOnlyTheirOwnerKnowsThePlaces) {
  EXPECT_THAT(changed_gather([](Plan& plan, Step&) { plan.views[0].buffer = Buffer::recv; }),
              HasSubstr("several blocks of a view that may be direct"));
  Plan plan = testing::gather(3, 0, chunk);
  plan.irregular = true;
  EXPECT_THAT(problem(plan, {.pieces = {1, 2, 3}}), HasSubstr("several blocks that are not all as long"));
}

TEST(PlantedBug, ABlockThatIsLeftOut) {
  EXPECT_THAT(changed_gather([](Plan&, Step& step) { step.blocks = 2; }), HasSubstr("rank 0"));
}

TEST(PlantedBug, ABlockThatIsNotAwaited) {
  Plan plan = testing::gather(3, 0, chunk);
  for (Step& step : plan.programs[0].lanes[0].steps)
    if (step.kind == Kind::wait && step.rank == 2) step.value = -100;
  EXPECT_THAT(problem(plan, {.count = 5}), HasSubstr("read before the write"));
}

TEST(PlantedBug, AWaitForAnIterationThatABlockDoesNotHave) {
  // Without `within` the root waits for chunks that a rank with a shorter block never copies.
  Plan plan = testing::scatter(3, 0, chunk, true);
  for (Step& step : plan.programs[0].lanes[0].steps) step.within = false;
  EXPECT_THAT(problem(plan, {.pieces = {0, 9, 2}, .direct = false, .mixtures = 0}), HasSubstr("deadlock"));
}

TEST(PlantedBug, AnInputThatIsOverwritten) {
  Plan plan = testing::allgather(3);
  for (Operand& operand : plan.programs[1].operands)
    if (operand.space == Space::recv && operand.block == 2) operand.block = 0;
  EXPECT_NE(problem(plan, {.count = 2}), "");
}

TEST(Pieces, AShapeMustFitThePlan) {
  EXPECT_THAT(problem(testing::scatter(3, 0, chunk, true), {.count = 3}), HasSubstr("needs a length for each"));
  EXPECT_THAT(problem(testing::scatter(3, 0, chunk), {.pieces = {1, 2, 3}}), HasSubstr("pieces of one length"));
  EXPECT_THAT(problem(testing::alltoall(3, chunk), {.count = 3, .in_place = true}), HasSubstr("never run in place"));
}

TEST(Pieces, AreCountedAsTheyMove) {
  // Two ranks read 8 elements each, the root copies its own.
  const Counts scatter = count(testing::scatter(3, 0, chunk), 8, 64, AccessMode::direct);
  EXPECT_EQ(scatter.problem, "");
  EXPECT_EQ(scatter.total.total(), 2u * 3 * 8 * 64);
  EXPECT_EQ(scatter.messages, 2u);
  const Counts staged = count(testing::scatter(3, 0, chunk), 8, 64, AccessMode::staged);
  EXPECT_EQ(staged.total.total(), 2u * (3 + 2) * 8 * 64);
  const Plan irregular = testing::scatter(3, 0, chunk, true);
  const std::vector<size_t> pieces = {1, 0, 5};
  EXPECT_EQ(count(irregular, shape_of(irregular, 0, pieces), 64, AccessMode::direct).total.total(), 2u * 6 * 64);
  EXPECT_NE(count(irregular, 8, 64, AccessMode::direct).problem, "");
  // Three ranks stage, the root takes three blocks, of which two are other ranks'.
  const Counts gather = count(testing::gather(3, 0, chunk), 8, 64, AccessMode::staged);
  EXPECT_EQ(gather.total.total(), 2u * 6 * 8 * 64);
}

}  // namespace
}  // namespace coll::plan
