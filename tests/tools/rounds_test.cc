// SPDX-License-Identifier: BSD-3-Clause
// Timing in rounds: which samples are discarded and counted, which processes are timed, and an impossible probe affects
// no other.
#include "tools/calibrate/rounds.h"

#include <gtest/gtest.h>

#include <csignal>
#include <ctime>

#include <sys/wait.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/common/launch.h"
#include "tools/common/shared_memory.h"

namespace coll::tools {
namespace {

TEST(Samples, DisturbedOnesAreDiscardedAndCounted) {
  std::vector<Sample> samples;
  for (int i = 0; i < 10; ++i) samples.push_back({10 + 0.1 * i, false});
  samples.push_back({10, true});  // another process ran: the sample does not count, however short it is
  samples.push_back({1000, true});
  samples.push_back({50, false});  // an outlier
  const Timing timing = summarize_samples(samples);
  EXPECT_TRUE(timing.good());
  EXPECT_EQ(timing.kept, 10u);
  EXPECT_EQ(timing.switched, 2u);
  EXPECT_EQ(timing.stray, 1u);
  EXPECT_NEAR(timing.us, 10.45, 1e-9);
  EXPECT_LT(timing.low_us, timing.us);
  EXPECT_GT(timing.high_us, timing.us);
  EXPECT_NEAR(timing.spread(), (timing.high_us - timing.low_us) / 2 / timing.us, 1e-12);
}

TEST(Samples, MostMayBeOutliers) {
  // A neighbour slows down six of ten samples.
  std::vector<Sample> samples;
  for (int i = 0; i < 4; ++i) samples.push_back({10, false});
  for (int i = 0; i < 6; ++i) samples.push_back({90, false});
  EXPECT_EQ(summarize_samples(samples).us, 10);
  EXPECT_EQ(summarize_samples(samples).stray, 6u);
}

TEST(Samples, NoKeptSampleIsReported) {
  const Timing timing = summarize_samples({{10, true}});
  EXPECT_FALSE(timing.good());
  EXPECT_NE(timing.problem.find("idle"), std::string::npos);
}

class Rounds : public ::testing::Test {
 protected:
  void SetUp() override {
    task_.cpus = allowed_cpus();
    if (task_.cpus.size() < 2) GTEST_SKIP() << "needs two processors";
    task_.cpus.resize(2);
    task_.processes = 2;
    task_.stages.resize(1);
    stage().least = stage().most = 6;
  }
  Stage& stage() { return task_.stages[0]; }
  std::atomic<int>& counter(int index) { return reinterpret_cast<std::atomic<int>*>(shared_.data())[index]; }

  SharedMemory shared_{4096};
  RoundsTask task_;
};

// One process finds that a probe is impossible before the other one has reached it: both skip it alike, and take all
// other probes.
TEST_F(Rounds, StayInStepIfOneProcessCannotTakeAProbe) {
  constexpr int pairs = 300;
  for (int i = 1; i <= pairs; ++i) {
    stage().probes.push_back({.name = "impossible",
                              .prepare = [](int self) { return self == 0 ? "it cannot be" : ""; },
                              .timed = [](int) { return ""; }});
    stage().probes.push_back({.name = "together", .timed = [this, i](int self) {
                                counter(self) = i;
                                // Long enough for a loaded machine.
                                const int most = counter(2) == 0 ? 20'000 : 0;
                                for (int waits = 0; counter(1 - self) != i && waits < most; ++waits) usleep(100);
                                if (counter(1 - self) != i) counter(2)++;
                                return "";
                              }});
  }
  measure_rounds(task_, {});
  EXPECT_EQ(counter(2), 0);
}

TEST_F(Rounds, TimesTheActingProcessesOncePerRound) {
  task_.with_one_at_rest = true;
  stage().probes = {{.name = "both", .timed = [&](int self) { return counter(self)++, ""; }},
                    {.name = "second",
                     .acts = [](int self) { return self == 1; },
                     .prepare = [&](int self) { return counter(4 + self)++, ""; },
                     .timed = [&](int self) { return counter(2 + self)++, usleep(300), ""; }}};
  const RoundsResult result = measure_rounds(task_, {});
  EXPECT_EQ(result.stages[0].rounds, 6);
  // One round before the first is not counted.
  EXPECT_EQ(counter(0), 7);
  EXPECT_EQ(counter(1), 7);
  EXPECT_EQ(counter(2), 0);
  EXPECT_EQ(counter(3), 7);
  EXPECT_EQ(counter(4), 7);
  EXPECT_EQ(counter(5), 7);
  EXPECT_EQ(counter(6), 0);  // the processes at rest
  const Timing& slept = result.stages[0].of[1];
  EXPECT_GE(slept.us, 300);  // sleeping is part of the timed call
  EXPECT_EQ(result.samples, 12u);
}

TEST_F(Rounds, RehearsalsAreNotTimed) {
  stage().probes = {{.name = "slow at first", .rehearsals = 2, .timed = [&](int self) {
                       if (counter(self)++ % 3 < 2) usleep(3000);
                       return "";
                     }}};
  const RoundsResult result = measure_rounds(task_, {});
  EXPECT_EQ(counter(0), 21);
  EXPECT_LT(result.stages[0].of[0].us, 1000);
  EXPECT_EQ(result.samples, 6u);
}

TEST_F(Rounds, TheUseOfAResultIsTimedApart) {
  stage().probes = {{.name = "used",
                     .timed = [&](int self) { return counter(self)++, ""; },
                     .use = [&](int self) { counter(2 + self)++, usleep(300); }},
                    {.name = "not used", .timed = [&](int) { return usleep(300), ""; }}};
  const RoundsResult result = measure_rounds(task_, {});
  EXPECT_EQ(counter(2), counter(0));
  const Timing &used = result.stages[0].of[0], &not_used = result.stages[0].of[1];
  EXPECT_LT(used.us, 100);
  EXPECT_GE(used.used_us, 300);
  EXPECT_EQ(not_used.used_us, not_used.us);
}

TEST_F(Rounds, SamplesDelayedByAnotherProcessAreDiscarded) {
  const pid_t busy = fork();
  if (busy == 0) {
    pin_to(task_.cpus[0]);
    for (;;) counter(0)++;
  }
  const auto spend = [](int) {
    const auto processor_ms = [] { return 1000.0 * double(std::clock()) / CLOCKS_PER_SEC; };
    for (const double begin = processor_ms(); processor_ms() < begin + 30;) {}
    return "";
  };
  stage().probes = {{.name = "shared", .acts = [](int self) { return self == 0; }, .timed = spend}};
  const RoundsResult result = measure_rounds(task_, {});
  kill(busy, SIGKILL);
  waitpid(busy, nullptr, 0);
  EXPECT_EQ(result.stages[0].of[0].switched, 6u);
  EXPECT_FALSE(result.stages[0].of[0].good());
  EXPECT_EQ(result.discarded, 6u);
}

TEST_F(Rounds, AFailingProbeIsSkippedAlone) {
  stage().probes = {
      {.name = "fails", .timed = [&](int self) { return counter(0)++, self == 1 ? "no such thing" : ""; }},
      {.name = "works", .timed = [&](int) { return counter(1)++, ""; }}};
  const RoundsResult result = measure_rounds(task_, {});
  EXPECT_EQ(result.stages[0].of[0].problem, "no such thing");
  EXPECT_FALSE(result.stages[0].of[0].good());
  EXPECT_EQ(counter(0), 2);  // both tried it once
  EXPECT_EQ(counter(1), 14);
}

TEST_F(Rounds, AStageThatCannotBeginIsSkipped) {
  task_.stages.resize(2);
  task_.stages[1].least = task_.stages[1].most = 1;
  for (Stage& stage : task_.stages) stage.probes = {{.name = "one", .timed = [&](int) { return counter(0)++, ""; }}};
  task_.stages[0].begin = [](int self) { return self == 0 ? "not today" : ""; };
  task_.stages[0].end = [&](int) { counter(1)++; };
  const RoundsResult result = measure_rounds(task_, {});
  EXPECT_EQ(result.stages[0].of[0].problem, "not today");
  EXPECT_EQ(counter(0), 4);  // the second stage
  EXPECT_EQ(counter(1), 1);  // ends in the process in which it began
  EXPECT_EQ(result.stages[1].rounds, 1);
}

TEST_F(Rounds, AProcessThatCannotBeginFailsTheRun) {
  task_.begin = [](int self) { return self == 1 ? "no memory here" : ""; };
  stage().probes = {{.name = "one", .timed = [](int) { return ""; }}};
  EXPECT_THROW(
      {
        try {
          measure_rounds(task_, {});
        } catch (const Failure& failure) {
          EXPECT_NE(std::string(failure.what()).find("no memory here"), std::string::npos);
          throw;
        }
      },
      Failure);
}

}  // namespace
}  // namespace coll::tools
