// SPDX-License-Identifier: BSD-3-Clause
// Two ways in turn: who takes which when, what ranks make of their times, and that the same arrives by both.
#include "comm/trials.h"

#include <algorithm>
#include <string>
#include <vector>

#include "api/handles.h"
#include "comm/ranks.h"

using namespace ranks;
using coll::comm::Contest;
using coll::comm::Trials;
using coll::plan::Collective;

namespace {

// Calls until ranks have agreed.
struct Found {
  uint32_t calls = 0, others = 0, timed = 0;
};
Found trial(Contest& contest, double usual_us, double other_us) {
  Found found;
  for (;;) {
    const Contest::Turn turn = contest.next();
    found.calls++;
    found.others += turn.other;
    if (!turn.timed) continue;
    found.timed++;
    contest.took(turn, turn.other ? other_us : usual_us);
    if (!turn.last) continue;
    contest.agree(std::vector<Contest::Times>{contest.times()});
    return found;
  }
}

TEST(Contest, TimesBothWaysAndKeepsTheUsualOneWhenLevel) {
  Contest contest(size_t(16) << 20);
  const Found found = trial(contest, 100, 97);
  EXPECT_EQ(found.timed, 2 * Contest::timed);
  EXPECT_EQ(found.others, Contest::timed + 1);
  EXPECT_FALSE(contest.takes_other());
  EXPECT_FALSE(contest.next().other);
}

TEST(Contest, TakesWhatIsFasterUntilItIsNot) {
  Contest contest;
  trial(contest, 100, 90);
  EXPECT_TRUE(contest.takes_other());
  const Contest::Turn turn = contest.next();
  EXPECT_TRUE(turn.other);
  EXPECT_FALSE(turn.timed);
  trial(contest, 90, 100);
  EXPECT_FALSE(contest.takes_other());
}

TEST(Contest, TriesTheLessOftenTheMoreOftenNothingChanges) {
  Contest contest;
  uint32_t before = 0;
  for (int i = 0; i < 8; i++) {
    const uint32_t calls = trial(contest, 90, 100).calls;
    EXPECT_GE(calls, before);
    before = calls;
  }
  EXPECT_GE(before, Contest::most_apart);
  EXPECT_LT(before, Contest::most_apart + 100);
  trial(contest, 100, 50);
  EXPECT_LT(trial(contest, 100, 50).calls, Contest::least_apart + 100);
}

TEST(Contest, TheSlowestRankCounts) {
  Contest contest;
  while (!contest.next().last) {}
  const Contest::Times slowest = contest.agree(std::vector<Contest::Times>{{10, 5}, {20, 30}});
  EXPECT_EQ(slowest.usual_us, 20);
  EXPECT_EQ(slowest.other_us, 30);
  EXPECT_FALSE(contest.takes_other());
}

TEST(Trials, ClassesOfSizesAreApart) {
  Trials trials(2);
  Contest& one = trials.of(Collective::bcast, size_t(1) << 20);
  EXPECT_EQ(&one, &trials.of(Collective::bcast, (size_t(1) << 21) - 1));
  EXPECT_NE(&one, &trials.of(Collective::bcast, size_t(1) << 21));
  EXPECT_NE(&one, &trials.of(Collective::scatter, size_t(1) << 20));
}

// Rank r's word i of what it sends to rank `to` in a call.
float value(int call, size_t from, size_t to, size_t i) {
  return float(i % 997 + 1000 * from + 100 * to) + float(call);
}

// Calls of every collective that moves, each with other data; until the first trial is over and somewhat longer.
void move(Context& c, size_t count, int calls) {
  const size_t ranks = size_t(c.ranks), me = size_t(c.rank);
  coll_comm* comm = c.comm();
  const coll::exec::Team& team = comm->comm->team();
  std::vector<float> send(ranks * count), recv(ranks * count);
  int by_kernel = 0;  // alltoalls
  for (int call = 0; call < calls && !c.failed(); call++) {
    const int root = call % c.ranks;
    const auto check = [&](const char* name, size_t block, size_t from, size_t to) {
      size_t wrong = 0;
      for (size_t i = 0; i < count; i++) wrong += recv[block * count + i] != value(call, from, to, i);
      if (wrong != 0) c.fail(std::string(name) + ", call " + std::to_string(call) + ": wrong elements");
    };
    for (size_t to = 0; to < ranks; to++)
      for (size_t i = 0; i < count; i++) send[to * count + i] = value(call, me, to, i);
    const uint64_t before = team.traffic.by_kernel;
    RANK_CHECK(c, coll_alltoall(send.data(), recv.data(), count, COLL_FLOAT, comm) == COLL_OK);
    by_kernel += team.traffic.by_kernel > before;
    for (size_t from = 0; from < ranks; from++) check("alltoall", from, from, me);
    RANK_CHECK(c, coll_allgather(send.data(), recv.data(), count, COLL_FLOAT, comm) == COLL_OK);
    for (size_t from = 0; from < ranks; from++) check("allgather", from, from, 0);
    RANK_CHECK(c, coll_scatter(send.data(), recv.data(), count, COLL_FLOAT, root, comm) == COLL_OK);
    check("scatter", 0, size_t(root), me);
    RANK_CHECK(c, coll_gather(send.data(), recv.data(), count, COLL_FLOAT, root, comm) == COLL_OK);
    for (size_t from = 0; from < ranks && c.rank == root; from++) check("gather", from, from, 0);
    std::copy_n(send.begin(), count, recv.begin());
    RANK_CHECK(c, coll_bcast(recv.data(), count, COLL_FLOAT, root, comm) == COLL_OK);
    check("bcast", 0, size_t(root), 0);
  }
  const bool tries =
      team.reach == coll::exec::Reach::staged && team.access != nullptr && getenv("COLL_TRIALS") == nullptr;
  // Which way is usual depends on the machine.
  RANK_CHECK(c, (by_kernel > 0 && by_kernel < calls) == tries);
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

// Reductions of vectors that ranks map or not, of numbers whose sum depends on the order; the same bits in every call.
void reduce(Context& c, bool mapped, size_t count, int calls) {
  const size_t bytes = count * sizeof(float);
  coll_comm* comm = c.comm();
  std::vector<float> own(mapped ? 0 : 2 * count);
  void* memory = own.data();
  if (mapped) RANK_CHECK(c, coll_mem_alloc(2 * bytes, &memory) == COLL_OK);
  float *const send = static_cast<float*>(memory), *const recv = send + count;
  for (int call = 0; call < calls && !c.failed(); call++) {
    const int root = call % c.ranks;
    std::vector<float> sum(count);
    for (int rank = 0; rank < c.ranks; rank++)
      for (size_t i = 0; i < count; i++) {
        const float operand = value(call, size_t(rank), 0, i) / 7;
        sum[i] = rank == 0 ? operand : sum[i] + operand;
        if (rank == c.rank) send[i] = operand;
      }
    const auto check = [&](const char* name) {
      if (!std::equal(sum.begin(), sum.end(), recv)) c.fail(std::string(name) + ", call " + std::to_string(call));
    };
    RANK_CHECK(c, coll_allreduce(send, recv, count, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
    check("allreduce");
    // Only the root gets a result, and only it has to have room for one.
    std::fill_n(recv, count, 0.0f);
    RANK_CHECK(c,
               coll_reduce(send, c.rank == root ? recv : nullptr, count, COLL_FLOAT, COLL_SUM, root, comm) == COLL_OK);
    if (c.rank == root) check("reduce");
  }
  if (mapped) RANK_CHECK(c, coll_mem_free(memory) == COLL_OK);
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

constexpr size_t count = (size_t(1) << 20) / sizeof(float) + 1;
constexpr int calls = 32;

TEST(Moves, ArriveByBothWays) {
  for (int ranks : {2, 3})
    run_processes(
        ranks, [](Context& c) { move(c, count, calls); }, -1, 60 * slowness);
}

TEST(Moves, GoOneWayWithoutTrials) {
  run_processes(2, [](Context& c) {
    c.set("COLL_TRIALS", "off");
    move(c, count, calls);
  });
}

TEST(Reductions, RoundAlikeByBothWays) {
  for (int ranks : {2, 3})
    for (const bool mapped : {false, true})
      run_processes(
          ranks, [mapped](Context& c) { reduce(c, mapped, count, calls); }, -1, 60 * slowness);
}

}  // namespace
