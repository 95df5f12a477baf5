// SPDX-License-Identifier: BSD-3-Clause
// The comparison of measured with expected times, on stamps that the test writes: no clock is read.
#include "comm/drift.h"

#include <gtest/gtest.h>

#include <memory>

namespace coll::comm {
namespace {

using plan::Collective;

// Both ranks of a communicator, in step.
class Pair {
 public:
  struct Moments {
    double begin_us, end_us;
  };
  // One call that was due on both; what rank 0 says.
  std::string call(Collective collective, double expected_us, Moments zero, Moments one, bool both = true) {
    while (!ranks_[0]->due())
      if (both) { EXPECT_FALSE(ranks_[1]->due()); }
    if (both) { EXPECT_TRUE(ranks_[1]->due()); }
    const auto look = [&](Drift& rank, Moments at) {
      return rank.look(collective, 65536, expected_us, int64_t(at.begin_us * 1000), int64_t(at.end_us * 1000));
    };
    if (both) { EXPECT_EQ(look(*ranks_[1], one), ""); }
    return look(*ranks_[0], zero);
  }
  // Messages of `calls` calls alike, with the number of the call.
  std::vector<std::pair<int, std::string>> calls(int calls, double expected_us, Moments zero, Moments one) {
    std::vector<std::pair<int, std::string>> told;
    for (int i = 0; i < calls; i++)
      if (std::string text = call(Collective::allreduce, expected_us, zero, one); !text.empty())
        told.emplace_back(i, text);
    return told;
  }

 private:
  std::unique_ptr<Stamp[]> memory_ = std::make_unique<Stamp[]>(2 * stamps);
  std::vector<Stamp*> places_{&memory_[0], &memory_[stamps]};
  std::unique_ptr<Drift> ranks_[2] = {std::make_unique<Drift>(0, places_), std::make_unique<Drift>(1, places_)};
};

TEST(Drift, TimesThatFitAreNotTold) {
  EXPECT_TRUE(Pair().calls(1000, 20, {100, 130}, {101, 131}).empty());
  EXPECT_TRUE(Pair().calls(1000, 20, {100, 109}, {101, 110}).empty());
}

TEST(Drift, TimesThatDoNotAreToldOnce) {
  const auto slow = Pair().calls(1000, 20, {100, 200}, {101, 201});
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].first, Drift::least_samples);  // a call is judged when the next one comes
  EXPECT_EQ(slow[0].second, "allreduce of about 65536 bytes takes 5 times as long as the model table predicts (20 us)");
  const auto fast = Pair().calls(1000, 20, {100, 102}, {101, 103});
  ASSERT_EQ(fast.size(), 1u);
  EXPECT_NE(fast[0].second.find("takes 0.1 times"), std::string::npos) << fast[0].second;
}

// Rank 0 waits a thousand times as long as the call takes, because rank 1 comes late.
TEST(Drift, WaitingForALateRankDoesNotCount) {
  EXPECT_TRUE(Pair().calls(1000, 20, {100, 20120}, {20100, 20121}).empty());
}

TEST(Drift, AShortDisturbanceIsForgotten) {
  Pair pair;
  EXPECT_TRUE(pair.calls(100, 20, {100, 120}, {100, 120}).empty());
  EXPECT_TRUE(pair.calls(5, 20, {100, 100000}, {100, 100000}).empty());
  EXPECT_TRUE(pair.calls(100, 20, {100, 120}, {100, 120}).empty());
}

TEST(Drift, UnknownTimesAndMissingStampsCountForNothing) {
  EXPECT_TRUE(Pair().calls(1000, 0, {100, 200}, {100, 200}).empty());
  Pair pair;
  for (int i = 0; i < 1000; i++)
    EXPECT_EQ(pair.call(Collective::bcast, 20, {100, 200}, {}, false), "");  // rank 1 has COLL_DRIFT=off
}

TEST(Drift, CollectivesAreToldApart) {
  Pair pair;
  int told = 0;
  for (int i = 0; i < 500; i++) {
    told += !pair.call(Collective::bcast, 20, {100, 200}, {100, 200}).empty();
    told += !pair.call(Collective::reduce, 20, {100, 120}, {100, 120}).empty();
    told += !pair.call(Collective::gather, 20, {100, 200}, {100, 200}).empty();
  }
  EXPECT_EQ(told, 2);
}

TEST(Drift, ManyCallsPassBetweenTwoLooks) {
  auto memory = std::make_unique<Stamp[]>(stamps);
  Drift drift(0, {memory.get()});
  int looks = 0;
  for (int call = 0; call < 100000; call++)
    if (drift.due()) drift.look(Collective::bcast, 1, 0, 0, 0), looks++;
  EXPECT_GT(looks, 100000 / 160);
  EXPECT_LT(looks, 100000 / 32);
}

}  // namespace
}  // namespace coll::comm
