// SPDX-License-Identifier: BSD-3-Clause
// collctl verify reports wrong plans: a registry with planted faults.
#include <gtest/gtest.h>

#include <vector>

#include "tools/verify/verify.h"

namespace coll::tools {
namespace {

using plan::Collective;

// No rank waits, so a rank may read data that is not there yet.
plan::Plan without_waits(const algo::PlanRequest& request) {
  plan::Plan plan = algo::find(Collective::bcast, "flat_read")->make(request);
  for (plan::Program& program : plan.programs)
    for (plan::Lane& lane : program.lanes)
      for (plan::Step& step : lane.steps)
        if (step.kind == plan::Kind::wait) step.value = -1000, step.add = plan::Add::nothing;
  return plan;
}

struct Said {
  int status;
  std::string out;
};

Said said(const algo::Algorithm& algorithm, bool json) {
  const std::vector<algo::Algorithm> registry = {algorithm};
  testing::internal::CaptureStdout();
  const int status = sweep({.ranks = "1-4", .threads = 2, .json = json}, registry);
  fflush(stdout);
  return {status, testing::internal::GetCapturedStdout()};
}

TEST(Planted, AWrongPlanFailsWithTheVerifiersWords) {
  algo::Algorithm wrong = *algo::find(Collective::bcast, "flat_read");
  wrong.make = without_waits;
  const Said table = said(wrong, false);
  EXPECT_EQ(table.status, 1);
  EXPECT_NE(table.out.find("FAILED"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("bcast flat_read, 2 ranks"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("seed"), std::string::npos);
  const Said json = said(wrong, true);
  EXPECT_EQ(json.status, 1);
  EXPECT_NE(json.out.find("\"ok\": false"), std::string::npos) << json.out;
  EXPECT_NE(json.out.find("\"problem\""), std::string::npos);
}

TEST(Planted, ABrokenPromiseOfTheRegistryFails) {
  algo::Algorithm wrong = *algo::find(Collective::allreduce, "ring");
  wrong.balanced = true;
  const Said table = said(wrong, false);
  EXPECT_EQ(table.status, 1);
  EXPECT_NE(table.out.find("balanced order"), std::string::npos) << table.out;
}

TEST(Planted, TheSameWithoutTheBugIsRight) {
  EXPECT_EQ(said(*algo::find(Collective::bcast, "flat_read"), false).status, 0);
}

}  // namespace
}  // namespace coll::tools
