// SPDX-License-Identifier: BSD-3-Clause
// Binds and runs hand-made plans on a channel of one rank.
#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "exec/bound.h"
#include "exec/channel_alone.h"
#include "exec/run.h"
#include "plan/builder.h"

using namespace coll::exec;
using namespace coll::plan;

namespace {

using Execution = coll::exec::Run;  // every test has its own Run

TEST(Fits, NamesWhatDoesNot) {
  ChannelAlone alone;
  Plan plan;
  EXPECT_EQ(fits(plan, alone.channel()), "");
  plan.flags = max_flags + 1;
  EXPECT_THAT(fits(plan, alone.channel()), ::testing::HasSubstr("flags"));
  plan.flags = 1;
  plan.views.resize(max_views + 1);
  EXPECT_THAT(fits(plan, alone.channel()), ::testing::HasSubstr("views"));
  plan.views.clear();
  plan.staging_bytes = uint32_t(alone.channel().room()) + 1;
  EXPECT_THAT(fits(plan, alone.channel()), ::testing::HasSubstr("smaller chunk"));
  plan.staging_bytes = 0;
  plan.views.resize(1);
  plan.views[0].slot_bytes = 128;
  EXPECT_EQ(fits(plan, alone.channel(), 128), "");
  EXPECT_THAT(fits(plan, alone.channel(), 129), ::testing::HasSubstr("an element of 129 bytes"));
}

TEST(Demands, AreThoseOfThePlansDirection) {
  const coll::transport::Path reads{.reads = true}, writes{.writes = true}, both{.reads = true, .writes = true};
  Plan plan;
  for (Direction direction : {Direction::any, Direction::read, Direction::write}) {
    plan.direction = direction;
    EXPECT_EQ(reads.meet(demands(plan)), direction == Direction::read);
    EXPECT_EQ(writes.meet(demands(plan)), direction == Direction::write);
    EXPECT_TRUE(both.meet(demands(plan)));
  }
  EXPECT_FALSE(both.meet({.reads = true, .atomic_bytes = 8}));
}

// A loop over chunks, with flags that count iterations, copies the whole vector for any chunk size.
TEST(Run, LoopsOverChunksOfAnyCount) {
  ChannelAlone alone;
  Builder b(Collective::bcast, "by_hand", 1, 0);
  uint16_t range = b.range({.chunk_bytes = 64}), flag = b.flag();
  auto lane = b.lane(0);
  lane.loop(range)
      .copy(range, own_recv(), own_send())
      .post(flag, this_iteration())
      .wait(0, flag, this_iteration())
      .end();
  Plan plan = b.finish();
  for (size_t count : {1, 15, 16, 17, 31, 32, 33, 1000}) {
    Bound bound(plan, alone.channel(), {.shape = count, .element_bytes = 4});
    std::vector<int> from(count), to(count + 1, -1);
    std::iota(from.begin(), from.end(), 7);
    Execution run;
    ASSERT_EQ(run.begin(bound, alone.channel(), {from.data(), to.data(), nullptr}), COLL_OK);
    ASSERT_EQ(run.finish(), COLL_OK);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin())) << count;
    EXPECT_EQ(to[count], -1);
  }
}

// Blocks of an irregular plan are at the displacements of the call, and a loop over an empty block makes no iteration.
TEST(Run, FindsBlocksAndLeavesOutEmptyOnes) {
  ChannelAlone alone;
  Builder b(Collective::alltoall, "by_hand", 1, 0, -1, true);
  const uint16_t own = b.range({.chunk_bytes = 64, .sender = 0, .receiver = 0}), flag = b.flag(), begun = b.flag();
  b.lane(0)
      .post(begun, all_iterations(own))
      .loop(own)
      .copy(own, own_recv(0), own_send(0))
      .post(flag, this_iteration_of(own))
      .end()
      .wait(0, flag, all_iterations(own));
  Plan plan = b.finish();
  for (size_t count : {0, 1, 16, 40}) {
    Shape shape;
    shape.by = Shape::By::own;
    shape.counts = shape.received = &count;
    shape.ranks = 1;
    Bound bound(plan, alone.channel(), {.shape = shape, .element_bytes = 4});
    std::vector<int> from(50), to(50, -1);
    std::iota(from.begin(), from.end(), 7);
    const size_t sent_from = 3, received_at = 9;
    const uint64_t flag_before = alone.channel().flag(0, flag).sequence;
    Execution run;
    ASSERT_EQ(run.begin(bound, alone.channel(), {from.data(), to.data(), nullptr, &sent_from, &received_at}), COLL_OK);
    const uint64_t base = alone.channel().base;
    ASSERT_EQ(run.finish(), COLL_OK);
    const uint64_t passes = (count + 15) / 16;
    EXPECT_EQ(alone.channel().flag(0, flag).sequence, passes == 0 ? flag_before : base + passes);
    for (size_t i = 0; i < to.size(); i++)
      EXPECT_EQ(to[i], i >= received_at && i < received_at + count ? from[sent_from + i - received_at] : -1) << i;
  }
}

// Two lanes wait for each other alternately; a blocked lane lets the other one run.
TEST(Run, LanesAdvanceByThemselves) {
  ChannelAlone alone;
  Builder b(Collective::barrier, "by_hand", 1, 0);
  uint16_t ping = b.flag(), pong = b.flag();
  auto first = b.lane(0);
  for (int i = 1; i <= 5; i++) first.post(ping, constant(i)).wait(0, pong, constant(i));
  auto second = b.lane(0);
  for (int i = 1; i <= 5; i++) second.wait(0, ping, constant(i)).post(pong, constant(i));
  Plan plan = b.finish();
  Bound bound(plan, alone.channel(), {});
  for (int round = 0; round < 3; round++) {
    Execution run;
    ASSERT_EQ(run.begin(bound, alone.channel(), {}), COLL_OK);
    Execution::Progress progress;
    int looks = 0;
    do progress = run.advance();
    while (progress == Execution::Progress::moved && ++looks < 100);
    EXPECT_EQ(progress, Execution::Progress::done);
    EXPECT_EQ(run.advance(), Execution::Progress::done);
  }
}

// A plan that only stores the vector to the staging of its rank.
Plan stores_to_slots(uint32_t chunk, uint16_t depth, bool synchronizing) {
  Builder b(Collective::bcast, "by_hand", 1, 0);
  const uint16_t range = b.range({.chunk_bytes = chunk}), view = b.view(Buffer::none, chunk, depth);
  b.lane(0).loop(range).copy(range, seen(view, 0), own_send()).end();
  if (synchronizing) b.synchronizing();
  return b.finish();
}

// Binding determines where a rank will store first, and its address is known when the operation before ends.
TEST(Run, KnowsWhereTheNextOperationStoresFirst) {
  for (const bool synchronizing : {false, true}) {
    ChannelAlone alone;
    Channel& channel = alone.channel();
    const Plan plan = stores_to_slots(64, 4, synchronizing);
    const size_t count = 60;  // one slot holds less than a chunk
    Bound bound(plan, channel, {.shape = count, .element_bytes = 4});
    ASSERT_EQ(bound.stored_first().size(), 4u);
    std::vector<int> from(count);
    const char* next = nullptr;
    int known = 0;
    const int operations =
        int(3 * channel.rings.back().staging_window_bytes / plan.staging_bytes);  // both halves, twice
    for (int operation = 0; operation < operations; operation++) {
      std::iota(from.begin(), from.end(), operation);
      Execution run;
      ASSERT_EQ(run.begin(bound, channel, {from.data(), nullptr, nullptr}), COLL_OK);
      ASSERT_EQ(run.finish(), COLL_OK);
      // A loop runs from the end of the vector to its beginning.
      const char* stored_from = reinterpret_cast<const char*>(from.data() + count);
      for (const Bound::Stored& stored : bound.stored_first()) {
        stored_from -= stored.bytes;
        if (next != nullptr) { ASSERT_EQ(memcmp(next + stored.offset, stored_from, stored.bytes), 0); }
      }
      ASSERT_EQ(stored_from, reinterpret_cast<const char*>(from.data()));
      next = channel.next_staging(plan.staging_bytes);
      known += next != nullptr;
    }
    EXPECT_GE(known, operations - 2);
  }
}

// Prefetching more would take longer than it saves.
TEST(Bound, TakesOnlyTheFirstOfALongVector) {
  ChannelAlone alone;
  for (const bool synchronizing : {false, true}) {
    const Plan plan = stores_to_slots(4096, 8, synchronizing);
    const Bound bound(plan, alone.channel(), {.shape = 100000, .element_bytes = 4});
    size_t bytes = 0;
    for (const Bound::Stored& stored : bound.stored_first()) bytes += stored.bytes;
    EXPECT_EQ(bytes, synchronizing ? 2048u : 16384u);
  }
}

// A step whose flag is not set yet blocks, and continues when it is set.
TEST(Run, NeverBlocksInAdvance) {
  ChannelAlone alone;
  Builder b(Collective::barrier, "by_hand", 1, 0);
  uint16_t flag = b.flag();
  auto lane = b.lane(0);
  lane.wait(0, flag, constant(1));
  Plan plan = b.finish();
  Bound bound(plan, alone.channel(), {});
  Execution run;
  ASSERT_EQ(run.begin(bound, alone.channel(), {}), COLL_OK);
  for (int i = 0; i < 3; i++) EXPECT_EQ(run.advance(), Execution::Progress::blocked);
  alone.channel().flag(0, flag).sequence.store(alone.channel().base + 1);
  EXPECT_EQ(run.advance(), Execution::Progress::done);
}

}  // namespace
