// SPDX-License-Identifier: BSD-3-Clause
// Every test plants one fault and checks that the verifier reports it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "plan/verify.h"
#include "plans.h"

namespace coll::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t chunk = 4 * 64;  // four elements of the default size
const VerifyOptions ten_elements{.count = 10};

std::string problem(const Plan& plan, const VerifyOptions& options = ten_elements) {
  Verdict verdict = verify(plan, options);
  EXPECT_EQ(verdict.ok, verdict.problem.empty());
  return verdict.problem;
}

Step& step(Plan& plan, int rank, size_t at, size_t lane = 0) {
  return plan.programs[size_t(rank)].lanes[lane].steps[at];
}

// The first step of a kind in a lane of a rank.
Step& find(Plan& plan, int rank, Kind kind, size_t lane = 0) {
  for (Step& s : plan.programs[size_t(rank)].lanes[lane].steps)
    if (s.kind == kind) return s;
  throw std::runtime_error("no such step");
}

// ---- the five most important faults
// -----------------------------------------------------------------------------------

TEST(PlantedBug, TwoRanksThatWaitForEachOtherDeadlock) {
  Builder b(Collective::barrier, "crossed", 2, 0);
  uint16_t flag = b.flag();
  for (int rank : b.ranks()) b.lane(rank).wait(1 - rank, flag, constant(1)).post(flag, constant(1));
  b.synchronizing();

  EXPECT_THAT(problem(b.finish()),
              AllOf(HasSubstr("deadlock"), HasSubstr("rank 0 lane 0 step 0 {wait rank 1 flag 0 >= 1}"),
                    HasSubstr("rank 1 lane 0 step 0 {wait rank 0 flag 0 >= 1}")));
}

TEST(PlantedBug, AMissingPostIsADeadlockWithARankThatHasEnded) {
  Builder b(Collective::barrier, "silent", 2, 0);
  uint16_t flag = b.flag();
  b.lane(0).wait(1, flag, constant(1)).post(flag, constant(1));
  b.lane(1).wait(1, flag, constant(0));

  EXPECT_THAT(problem(b.finish()), AllOf(HasSubstr("deadlock"), HasSubstr("rank 1 has ended")));
}

TEST(PlantedBug, ReaderThatDoesNotWaitReadsBeforeTheWrite) {
  Builder b(Collective::bcast, "hasty", 2, 0);
  uint16_t slots = b.view(Buffer::none, chunk, 4), ready = b.flag();
  uint16_t all = b.range({.chunk_bytes = chunk});
  b.lane(0).loop(all).copy(all, seen(slots, 0), own_send()).post(ready, this_iteration()).end();
  // Waits for the iteration before its own.
  b.lane(1).loop(all).wait(0, ready, this_iteration(-1)).copy(all, own_recv(), seen(slots, 0)).end();

  EXPECT_THAT(problem(b.finish()), AllOf(HasSubstr("read before the write"), HasSubstr("rank 1 lane 0 step 2"),
                                         HasSubstr("slot 0 of view 0 of rank 0"), HasSubstr("rank 0 lane 0 step 1")));
}

TEST(PlantedBug, ReadBeforeTheWriteIsFoundEvenIfTheRunIsRight) {
  // Rank 0 runs first in every fair schedule; only the order of events shows that nothing guarantees it.
  Builder b(Collective::bcast, "lucky", 3, 0);
  uint16_t slots = b.view(Buffer::none, chunk), ready = b.flag();
  uint16_t all = b.range({});
  b.lane(0).copy(all, seen(slots, 0), own_send()).post(ready, constant(1));
  b.lane(1).wait(0, ready, constant(1)).copy(all, own_recv(), seen(slots, 0));
  b.lane(2).copy(all, own_recv(), seen(slots, 0));

  VerifyOptions only_order{.count = 4, .adversaries = false, .interleavings = 0};
  EXPECT_THAT(problem(b.finish(), only_order),
              AllOf(HasSubstr("read before the write"), HasSubstr("rank 2 lane 0 step 0")));
}

TEST(PlantedBug, WriterThatDoesNotAwaitReadersOverwritesBeforeTheLastRead) {
  // Depth 2, but the root waits for iterations three before: one reader may be a chunk behind.
  Plan plan = testing::flat_bcast(3, 0, chunk, 2);
  for (Step& s : plan.programs[0].lanes[0].steps)
    if (s.kind == Kind::wait && s.when == When::staged && s.rank == 2) s.value -= 1;

  EXPECT_THAT(problem(plan, {.count = 20}),
              AllOf(HasSubstr("overwrite before the last read"), HasSubstr("rank 0 lane 0"), HasSubstr("rank 2 lane 0"),
                    HasSubstr("slot 0 of view 0 of rank 0, element 0 (byte 0)")));
}

TEST(PlantedBug, SourcesOutOfOrderAreAWrongResult) {
  Plan plan = testing::block_allreduce(3, chunk);
  const Step& reduce = find(plan, 1, Kind::reduce);
  auto& operands = plan.programs[1].operands;
  size_t sources = reduce.operand + reduce.destinations;
  std::swap(operands[sources], operands[sources + 1]);

  EXPECT_THAT(problem(plan), AllOf(HasSubstr("wrong result"), HasSubstr("((1+0)+2)"), HasSubstr("balanced fold")));
}

// Four operands from left to right: in rank order, but not balanced. With up to three ranks both are equal.
TEST(PlantedBug, AFoldFromLeftToRightIsNotBalanced) {
  Plan plan = testing::two_lane_allreduce(4, chunk);
  EXPECT_EQ(problem(plan), "");
  plan.balanced = true;
  EXPECT_THAT(problem(plan), AllOf(HasSubstr("wrong result"), HasSubstr("(((0+1)+2)+3)"), HasSubstr("balanced fold")));
  plan = testing::two_lane_allreduce(3, chunk);
  EXPECT_TRUE(plan.balanced);
  EXPECT_EQ(problem(plan), "");
}

TEST(PlantedBug, AnInputThatIsCombinedTwiceIsAWrongResult) {
  Plan plan = testing::block_allreduce(3, chunk);
  plan.balanced = false;
  const Step& reduce = find(plan, 1, Kind::reduce);
  auto& operands = plan.programs[1].operands;
  size_t sources = reduce.operand + reduce.destinations;
  operands[sources] = operands[sources + 1];

  EXPECT_THAT(problem(plan), AllOf(HasSubstr("wrong result"), HasSubstr("((1+1)+2)"), HasSubstr("exactly once")));
}

TEST(PlantedBug, ABlockThatNoRankFillsIsAWrongResult) {
  Plan plan = testing::block_allreduce(3, chunk);
  Plan one_block_less = plan;
  for (Step& s : one_block_less.programs[2].lanes[0].steps)
    if (s.kind == Kind::copy && s.when == When::always) s.range = find(plan, 2, Kind::reduce).range;

  EXPECT_FALSE(verify(one_block_less, ten_elements).ok);
}

TEST(PlantedBug, TheWrongRootsDataIsAWrongResult) {
  Plan plan = testing::flat_bcast(3, 1, chunk);
  plan.root = 2;  // whose buffer no rank reads

  EXPECT_FALSE(verify(plan, ten_elements).ok);
}

TEST(PlantedBug, AFlagWrittenByTwoRanks) {
  Plan plan = testing::dissemination(4);
  find(plan, 3, Kind::post).rank = 2;

  EXPECT_THAT(problem(plan), AllOf(HasSubstr("a flag written by two ranks"), HasSubstr("rank 3 lane 0 step 0"),
                                   HasSubstr("flag 0 of rank 2")));
}

TEST(PlantedBug, AFlagPostedByTwoLanesInNoOrder) {
  Builder b(Collective::barrier, "lanes", 2, 0);
  uint16_t flag = b.flag();
  for (int rank : b.ranks()) {
    b.lane(rank).post(flag, constant(1));
    b.lane(rank).post(flag, constant(1)).wait(1 - rank, flag, constant(1));
  }
  EXPECT_THAT(problem(b.finish()), HasSubstr("another lane posts the same flag"));
}

// ---- ends, decisions, claims --------------------------------------------------------------------------------------

TEST(PlantedBug, ARankThatLeavesWhileItsBufferIsRead) {
  Plan plan = testing::flat_bcast(3, 0, chunk);
  // The last wait of a direct root is for the last chunk of the slowest reader.
  step(plan, 0, plan.programs[0].lanes[0].steps.size() - 1).value -= 1;

  EXPECT_THAT(problem(plan), AllOf(HasSubstr("all views direct"),
                                   HasSubstr("rank 0 may end while buffer of rank 0, element 0 (byte 0)"),
                                   HasSubstr("still read by rank 2")));
  EXPECT_EQ(problem(plan, {.count = 10, .direct = false, .mixtures = 0}), "") << "a staged root may leave";
}

TEST(PlantedBug, AViewThatIsUsedBeforeItsOwnerDecided) {
  Builder own(Collective::bcast, "early", 1, 0);
  uint16_t data = own.view(Buffer::send, chunk), all = own.range({});
  own.lane(0).copy(all, seen(data, 0), own_send()).publish(data);
  EXPECT_THAT(problem(own.finish()), HasSubstr("uses own view 0 (send), which is not published (yet)"));

  Plan plan = testing::flat_bcast(2, 0, chunk);
  for (Step& s : plan.programs[1].lanes[0].steps)
    if (s.kind == Kind::wait) s.value = -100;
  EXPECT_THAT(problem(plan), AllOf(HasSubstr("rank 1 lane 0"), HasSubstr("without having waited")));

  Builder condition(Collective::bcast, "early", 1, 0);
  data = condition.view(Buffer::send, chunk), all = condition.range({});
  condition.lane(0).copy(all, seen(data, 0), own_send(), if_staged(data));
  EXPECT_THAT(problem(condition.finish()), HasSubstr("depends on a view of its own that is not published"));
}

TEST(PlantedBug, AViewWhoseDecisionTheReaderHasNotSeen) {
  // Rank 2 knows from rank 1 that the data is ready, but not from the owner how the view was opened.
  Builder b(Collective::bcast, "hearsay", 3, 0);
  uint16_t data = b.view(Buffer::send, chunk), report = b.flag(), all = b.range({});
  b.lane(0)
      .publish(data)
      .copy(all, seen(data, 0), own_send(), if_staged(data))
      .post(b.view_flag(data), constant(1))
      .wait(1, report, constant(2))
      .wait(2, report, constant(1));
  b.lane(1)
      .wait(0, b.view_flag(data), constant(1))
      .post(report, constant(1))
      .copy(all, own_recv(), seen(data, 0))
      .post(report, constant(2));
  b.lane(2).wait(1, report, constant(1)).copy(all, own_recv(), seen(data, 0)).post(report, constant(1));

  EXPECT_THAT(problem(b.finish(), {.count = 4}),
              AllOf(HasSubstr("rank 2 lane 0 step 1"), HasSubstr("without having waited for flag 0 of rank 0")));
}

TEST(PlantedBug, AnAnnouncementBeforeThePublication) {
  Builder b(Collective::bcast, "late", 2, 0);
  uint16_t data = b.view(Buffer::send, chunk), all = b.range({});
  b.lane(0).post(b.view_flag(data), constant(1)).publish(data).copy(all, seen(data, 0), own_send(), if_staged(data));
  b.lane(1).wait(0, b.view_flag(data), constant(1)).copy(all, own_recv(), seen(data, 0));
  EXPECT_THAT(problem(b.finish(), {.count = 4}), HasSubstr("announces view 0 before publishing it"));
}

TEST(PlantedBug, AViewPublishedTwice) {
  Builder b(Collective::bcast, "twice", 1, 0);
  uint16_t data = b.view(Buffer::send, chunk);
  b.lane(0).publish(data).publish(data);
  EXPECT_THAT(problem(b.finish(), {.count = 4}), HasSubstr("publishes the view a second time"));
}

TEST(PlantedBug, AClaimToSynchronizeThatDoesNotHold) {
  Plan plan = testing::flat_bcast(3, 0, chunk);
  plan.synchronizing = true;
  EXPECT_THAT(problem(plan), AllOf(HasSubstr("the plan claims to synchronize"), HasSubstr("may end before rank")));
}

TEST(PlantedBug, ABarrierThatLetsARankGoEarly) {
  Plan plan = testing::dissemination(4);
  plan.synchronizing = false;
  for (Step& s : plan.programs[2].lanes[0].steps)
    if (s.kind == Kind::wait && s.value == 2) s.value = 0;
  EXPECT_THAT(problem(plan), AllOf(HasSubstr("a barrier must synchronize"), HasSubstr("rank 2 may end before rank 0")));
}

// ---- buffers --------------------------------------------------------------------------------------------------------

TEST(PlantedBug, WritingTheCallersInput) {
  Builder b(Collective::allreduce, "dirty", 1, 0);
  uint16_t all = b.range({});
  b.lane(0).copy(all, own_recv(), own_send()).copy(all, own_send(), own_recv());
  Plan plan = b.finish();
  EXPECT_THAT(problem(plan), AllOf(HasSubstr("writes send"), HasSubstr("the caller's input")));
  EXPECT_EQ(problem(plan, {.count = 4, .in_place = true}), "") << "in place nothing is moved";
}

TEST(PlantedBug, ABufferThatTheRankDoesNotHave) {
  Builder bcast(Collective::bcast, "sender", 2, 0);
  uint16_t all = bcast.range({});
  bcast.lane(1).copy(all, own_recv(), own_send());
  EXPECT_THAT(problem(bcast.finish()), HasSubstr("does not have in bcast"));

  Builder reduce(Collective::reduce, "receiver", 2, 0);
  all = reduce.range({});
  reduce.lane(1).copy(all, own_recv(), own_send());
  EXPECT_THAT(problem(reduce.finish()), HasSubstr("does not have in reduce"));
}

TEST(PlantedBug, InPlaceOverwritesAnInputThatAPeerStillReads) {
  // Both read the whole input of the other and write their own result: right unless input and result are one buffer.
  Builder b(Collective::allreduce, "swap", 2, 0);
  uint16_t in = b.view(Buffer::send, chunk), done = b.flag(), all = b.range({});
  for (int rank : b.ranks()) {
    Operand from[] = {seen(in, 0), seen(in, 1)}, to[] = {own_recv()};
    b.lane(rank)
        .publish(in)
        .copy(all, seen(in, rank), own_send(), if_staged(in))
        .post(b.view_flag(in), constant(1))
        .wait(1 - rank, b.view_flag(in), constant(1))
        .reduce(all, to, from)
        .post(done, constant(1))
        .wait(1 - rank, done, constant(1));
  }
  Plan plan = b.finish();
  EXPECT_EQ(problem(plan, {.count = 4}), "");
  EXPECT_THAT(problem(plan, {.count = 4, .in_place = true}), HasSubstr("buffer of rank"));
}

TEST(PlantedBug, ACopyThatNoKernelCanMake) {
  // process_vm_readv and process_vm_writev have one remote side.
  auto copies = [](Operand to, Operand from, bool twice) {
    Builder b(Collective::allreduce, "third party", 3, 0);
    b.view(Buffer::send, chunk), b.view(Buffer::recv, chunk), b.view(Buffer::none, chunk);
    uint16_t all = b.range({});
    if (twice) b.lane(0).copy2(all, own_recv(), to, from);
    else b.lane(0).copy(all, to, from);
    return b.finish();
  };
  EXPECT_THAT(problem(copies(seen(1, 1), seen(0, 2), false)), HasSubstr("between the buffers of two other ranks"));
  EXPECT_THAT(problem(copies(seen(1, 1), own_send(), true)), HasSubstr("two destinations, one of them another rank's"));
  EXPECT_THAT(problem(copies(seen(2, 1), seen(0, 2), false)), Not(HasSubstr("two other ranks"))) << "staging is mapped";
}

TEST(PlantedBug, ASlotThatIsTooSmall) {
  Plan plan = testing::flat_bcast(2, 0, chunk);
  plan.views[0].slot_bytes -= 64;
  EXPECT_THAT(problem(plan), HasSubstr("goes beyond the end of a slot"));
  EXPECT_EQ(problem(plan, {.count = 3}), "") << "three elements still fit";
}

TEST(PlantedBug, RingsThatOverlap) {
  Plan plan = testing::block_allreduce(2, chunk);
  plan.views[1].slot_offset -= 64;
  EXPECT_THAT(problem(plan), HasSubstr("its ring overlaps that of view 0"));
  plan.views[1].slot_offset += 128;
  EXPECT_THAT(problem(plan), HasSubstr("beyond the staging"));
}

TEST(PlantedBug, ElementsThatAreMixedUp) {
  Builder b(Collective::allreduce, "shifted", 1, 0);
  uint16_t slot = b.view(Buffer::none, chunk);
  uint16_t first = b.range({.part = 0, .parts = 2}), second = b.range({.part = 1, .parts = 2});
  Operand from[] = {seen(slot, 0), own_send()}, to[] = {own_recv()};
  b.lane(0).copy(first, seen(slot, 0), own_send()).reduce(second, to, from);
  EXPECT_THAT(problem(b.finish(), {.count = 8}), HasSubstr("combines element 0 with element 4"));
}

// ---- values ----------------------------------------------------------------------------------------------------------

TEST(PlantedBug, ValuesThatDecreaseOrExceedTheLast) {
  auto posts = [](int32_t first, int32_t second) {
    Builder b(Collective::allreduce, "values", 1, 0);
    uint16_t flag = b.flag(), all = b.range({});
    b.lane(0).copy(all, own_recv(), own_send()).post(flag, constant(first)).post(flag, constant(second));
    return b.finish();
  };
  EXPECT_EQ(problem(posts(1, 1)), "");
  EXPECT_THAT(problem(posts(2, 1)), HasSubstr("never decrease"));
  EXPECT_THAT(problem(posts(0, 1)), HasSubstr("begin at 1"));
  Plan too_large = posts(1, 2);
  step(too_large, 0, 2).value = int32_t(too_large.largest_value) + 1;
  EXPECT_THAT(problem(too_large), HasSubstr("more than the plan's last value"));
}

// ---- form -------------------------------------------------------------------------------------------------------------

TEST(PlantedBug, NumbersOutOfRange) {
  const Plan good = testing::block_allreduce(2, chunk);
  ASSERT_EQ(problem(good), "");
  auto expect = [&](const char* what, auto&& damage) {
    Plan plan = good;
    damage(plan);
    EXPECT_THAT(problem(plan), HasSubstr(what));
  };
  expect("no ranks", [](Plan& p) { p.ranks = 0; });
  expect("one rank's program only", [](Plan& p) { p.only_rank = 0; });
  expect("one program per rank", [](Plan& p) { p.programs.pop_back(); });
  expect("root is not a rank", [](Plan& p) { p.root = 2; });
  expect("flag that does not exist", [](Plan& p) { find(p, 0, Kind::post).flag = 99; });
  expect("waits for a rank that does not exist", [](Plan& p) { find(p, 0, Kind::wait).rank = 2; });
  expect("loops over a range", [](Plan& p) { find(p, 0, Kind::loop).range = 99; });
  expect("names a range", [](Plan& p) { find(p, 0, Kind::copy).range = 99; });
  expect("number of sources", [](Plan& p) { find(p, 0, Kind::copy).sources = 2; });
  expect("destinations", [](Plan& p) { find(p, 0, Kind::reduce).destinations = 0; });
  expect("operands that do not exist", [](Plan& p) { find(p, 0, Kind::reduce).operand = 1000; });
  expect("view that does not exist", [](Plan& p) { p.programs[0].operands[find(p, 0, Kind::copy).operand].view = 7; });
  expect("view of a rank that does not exist",
         [](Plan& p) { p.programs[0].operands[find(p, 0, Kind::copy).operand].rank = 7; });
  expect("depends on a view that does not exist", [](Plan& p) { find(p, 0, Kind::copy).view = no_view; });
  expect("publishes a view that does not exist", [](Plan& p) { find(p, 0, Kind::publish).view = 7; });
  expect("power of two", [](Plan& p) { p.views[0].depth = 3; });
  expect("announced by a flag that does not exist", [](Plan& p) { p.views[0].flag = 99; });
  expect("block that does not exist", [](Plan& p) { p.ranges[1].sub = 2; });
  expect("ends within a loop", [](Plan& p) { p.programs[0].lanes[0].steps.resize(6); });
  expect("within a loop", [](Plan& p) { find(p, 0, Kind::post).kind = Kind::loop; });
  expect("not begun", [](Plan& p) { find(p, 0, Kind::publish).kind = Kind::end; });
  expect("does not fit the loop", [](Plan& p) { find(p, 0, Kind::end).value += 1; });
  EXPECT_THAT(problem(good, {.count = 1, .element_bytes = 0}), HasSubstr("elements of 0 bytes"));
}

TEST(PlantedBug, AProgramThatGrowsWithTheVector) {
  Builder b(Collective::bcast, "unrolled", 2, 0);
  uint16_t ready = b.flag();
  auto lane = b.lane(0);
  for (int chunk_number = 0; chunk_number < 1000; ++chunk_number) lane.post(ready, constant(1));
  EXPECT_THAT(problem(b.finish()), HasSubstr("plans grow with ranks and levels, not with the vector"));
}

}  // namespace
}  // namespace coll::plan
