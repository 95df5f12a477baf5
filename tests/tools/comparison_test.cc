// SPDX-License-Identifier: BSD-3-Clause
// Comparisons over several phases: combined times do not depend on the state of the machine; slow candidates are
// dropped.
#include "tools/calibrate/choose/comparison.h"

#include <gtest/gtest.h>

#include "tools/common/launch.h"
#include "tune/rules.h"

namespace coll::tools {
namespace {

TEST(CombinePhases, OneTimeIsTheGeometricMean) {
  EXPECT_TRUE(combine_phases({}).empty());
  const std::vector<double> us = combine_phases({{2, 10}, {8, 10}});
  EXPECT_NEAR(us[0], 4, 1e-9);
  EXPECT_NEAR(us[1], 10, 1e-9);
}

TEST(CombinePhases, DroppedCandidateIsComparedInItsPhases) {
  // The machine was half as fast during the second phase. The candidate dropped before took 1.5 times as long as the
  // first.
  const std::vector<double> us = combine_phases({{10, 12, 15}, {20, 24, 0}});
  EXPECT_NEAR(us[2] / us[0], 1.5, 1e-9);
  EXPECT_NEAR(us[1] / us[0], 1.2, 1e-9);
  EXPECT_NEAR(us[0] * us[0], 200, 1e-6);
}

TEST(CombinePhases, DisturbedSamplesDoNotCount) {
  const std::vector<double> us = combine_phases({{0, 12, 0}, {20, 24, 0}});
  EXPECT_NEAR(us[0] / us[1], 20.0 / 24, 1e-9);
  EXPECT_EQ(us[2], 0);
  // Without a common phase, its own time counts.
  EXPECT_NEAR(combine_phases({{5, 0}, {0, 7}})[1], 7, 1e-9);
}

Candidate candidate(plan::Collective collective, const char* text) {
  Candidate made;
  EXPECT_EQ(tune::parse_choice(collective, text, made.choice), "");
  return made;
}

TEST(Comparisons, TheTimeUntilTheResultIsReadDecides) {
  Comparison of{.candidates = {{}, {}}};
  of.candidates[0].timing = {.us = 1, .used_us = 5, .kept = 3};
  of.candidates[1].timing = {.us = 2, .used_us = 4, .kept = 3};
  EXPECT_EQ(of.winner(), 1);
}

TEST(Comparisons, SlowCandidatesAreDroppedAndTheFirstMayStay) {
  std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "needs two processors";
  cpus.resize(2);
  // A megabyte in chunks of 256 bytes against one in chunks of 64 KiB.
  const plan::Collective bcast = plan::Collective::bcast;
  const Candidate slow = candidate(bcast, "flat_read:chunk=256,depth=2"),
                  fast = candidate(bcast, "flat_read:chunk=64k,depth=8");
  std::vector<Comparison> comparisons = {{bcast, 2, 1 << 20, {slow, fast}}};
  const auto nothing = [](double, const std::string&) {};
  std::vector<Comparison> dropped = comparisons;
  run_comparisons(dropped, cpus, {.phases = {{0.2, 20, 1.2}, {0.2, 20, 1.2}}}, nothing);
  const std::vector<Candidate>& of = dropped[0].candidates;
  if (!of[0].timing.good() || !of[1].timing.good())
    GTEST_SKIP() << of[0].timing.problem << of[1].timing.problem << " (both phases)";
  EXPECT_EQ(dropped[0].winner(), 1);
  EXPECT_GT(of[0].timing.us, 1.2 * of[1].timing.us);
  EXPECT_FALSE(of[0].in_every_phase);
  EXPECT_TRUE(of[1].in_every_phase);
  EXPECT_LE(of[1].timing.low_us, of[1].timing.high_us);

  run_comparisons(comparisons, cpus, {.phases = {{0.2, 20, 1.2}, {0.2, 20, 1.2}}, .first_stays = true}, nothing);
  EXPECT_TRUE(comparisons[0].candidates[0].in_every_phase);
  EXPECT_EQ(comparisons[0].winner(), 1);
}

TEST(Comparisons, TheHandWrittenPathMayBeLeftOut) {
  const plan::Collective bcast = plan::Collective::bcast;
  Comparison comparison{bcast, 2, 4096, {{}, candidate(bcast, "flat_read"), candidate(bcast, "knomial")}};
  for (size_t i = 0; i < 3; i++) comparison.candidates[i].timing = {.used_us = double(i + 1), .kept = 1};
  EXPECT_EQ(comparison.winner(), 0);
  EXPECT_EQ(comparison.winner(false), 1);
}

TEST(Comparisons, WithoutTimeThereIsNoWinner) {
  std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "needs two processors";
  cpus.resize(2);
  std::vector<Comparison> comparisons = {
      {plan::Collective::bcast, 2, 4096, {candidate(plan::Collective::bcast, "flat_read")}}};
  run_comparisons(comparisons, cpus, {.phases = {{0.05}, {0.05}}, .most_seconds = -1},
                  [](double, const std::string&) {});
  EXPECT_EQ(comparisons[0].winner(), -1);
  EXPECT_EQ(comparisons[0].candidates[0].timing.problem, "the time limit was reached");
}

}  // namespace
}  // namespace coll::tools
