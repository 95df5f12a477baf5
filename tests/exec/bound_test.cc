// SPDX-License-Identifier: BSD-3-Clause
// Binding and running plans made by hand on a channel of one rank.
#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "exec/bound.h"
#include "exec/channel_alone.h"
#include "exec/run.h"
#include "plan/builder.h"

using namespace coll::exec;
using namespace coll::plan;
using coll::exec::testing::ChannelAlone;

namespace {

using Execution = coll::exec::Run;  // every test has a Run() of its own

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
  plan.staging_bytes = uint32_t(alone.channel().half_bytes) + 1;
  EXPECT_THAT(fits(plan, alone.channel()), ::testing::HasSubstr("smaller chunk"));
}

// A loop over chunks, with flags that count passes, copies the whole vector however it is cut.
TEST(Run, LoopsOverChunksOfAnyCount) {
  ChannelAlone alone;
  Builder b(Collective::bcast, "by_hand", 1, 0);
  uint16_t range = b.range({.chunk_bytes = 64}), flag = b.flag();
  auto lane = b.lane(0);
  lane.loop(range).copy(range, own_recv(), own_send()).post(flag, this_pass()).wait(0, flag, this_pass()).end();
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

// Two lanes of which each waits for the other in turn; a lane that cannot go on lets the other run.
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

// A step whose flag is not there yet blocks, and goes on when it comes.
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
  alone.channel().own().memory->flags[flag].sequence.store(alone.channel().base + 1);
  EXPECT_EQ(run.advance(), Execution::Progress::done);
}

}  // namespace
