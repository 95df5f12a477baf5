// SPDX-License-Identifier: BSD-3-Clause
// Comparisons over several phases: combined times do not depend on the state of the machine; slow candidates are
// dropped; the rows of a table follow from them.
#include "tools/calibrate/choose/comparison.h"

#include <gtest/gtest.h>

#include "tools/calibrate/choose/choose.h"
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

TEST(Comparisons, WithoutAFinalistTheFastestDroppedCandidateWins) {
  const plan::Collective bcast = plan::Collective::bcast;
  Comparison comparison{bcast, 2, 4096, {{}, candidate(bcast, "flat_read"), candidate(bcast, "knomial")}};
  for (size_t i = 0; i < 3; i++) comparison.candidates[i].timing = {.used_us = double(9 - i), .kept = 1};
  comparison.candidates[1].in_every_phase = comparison.candidates[2].in_every_phase = false;
  EXPECT_EQ(comparison.winner(), 0);
  EXPECT_EQ(comparison.winner(false), 2);
}

// At sizes that double from 1 KiB on, the latency path takes 1 us and another algorithm the given times.
std::vector<Comparison> against_latency(const std::vector<double>& times) {
  std::vector<Comparison> made;
  for (size_t i = 0; i < times.size(); i++) {
    Comparison of{plan::Collective::bcast, 2, size_t(1024) << i, {{}, candidate(plan::Collective::bcast, "flat_read")}};
    of.candidates[0].predicted_us = of.candidates[1].predicted_us = 1;
    of.candidates[0].timing = {.used_us = 1, .kept = 1};
    of.candidates[1].timing = {.used_us = times[i], .kept = 1};
    made.push_back(of);
  }
  return made;
}

// How many of the rows are the latency path's; they must be the first ones.
size_t rows_of_latency(const std::vector<Comparison>& comparisons) {
  const std::vector<model::Chosen> rows = select(comparisons);
  EXPECT_EQ(rows.size(), comparisons.size());
  size_t count = 0;
  while (count < rows.size() && rows[count].algorithm == nullptr) ++count;
  for (size_t i = count; i < rows.size(); i++) EXPECT_NE(rows[i].algorithm, nullptr);
  return count;
}

TEST(Select, TheLatencyPathEndsWhereItsGainsAreLargest) {
  EXPECT_EQ(rows_of_latency(against_latency({2, 0.97, 1.5, 0.5})), 3u);  // one size is lost for a larger gain
  EXPECT_EQ(rows_of_latency(against_latency({2, 0.5, 1.5, 0.5})), 1u);
  EXPECT_EQ(rows_of_latency(against_latency({0.9, 0.5})), 0u);
  EXPECT_EQ(rows_of_latency(against_latency({2, 2})), 2u);
}

TEST(Select, TimesCountOnlyWhereBothWereMeasured) {
  std::vector<Comparison> of = against_latency({2, 0.5});
  of[0].candidates[1].timing.kept = 0;
  of[0].candidates[0].predicted_us = 3;
  EXPECT_EQ(rows_of_latency(of), 0u);
  of[0].candidates[0].predicted_us = 0.5;
  EXPECT_EQ(rows_of_latency(of), 1u);
}

TEST(Select, EachCollectiveAndNumberOfRanksHasItsLimit) {
  std::vector<Comparison> of = against_latency({2, 0.5}), more = against_latency({2, 2});
  for (Comparison& comparison : more) comparison.ranks = 4;
  of.insert(of.begin(), more.begin(), more.end());
  const std::vector<model::Chosen> rows = select(of);
  ASSERT_EQ(rows.size(), 4u);
  for (size_t i = 0; i < 4; i++) EXPECT_EQ(rows[i].algorithm == nullptr, i != 1) << i;
  EXPECT_EQ(rows[1].measured_us, of[3].candidates[1].timing.us);
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
