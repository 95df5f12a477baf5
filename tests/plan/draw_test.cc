// SPDX-License-Identifier: BSD-3-Clause
// Drawings contain every step, every box and every arrow, and are well-formed XML.
#include "plan/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/timeline.h"
#include "plans.h"

namespace coll::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t occurrences(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

TEST(DrawText, HasALinePerStep) {
  Plan plan = testing::chain_bcast(4, 1, 16384);
  std::string all = draw_text(plan);
  size_t steps = 0;
  for (const Program& program : plan.programs)
    for (const Lane& lane : program.lanes) steps += lane.steps.size();
  // Four lines of heading, then for each rank an empty line and its name.
  EXPECT_EQ(occurrences(all, "\n"), 3 + 4 * 2 + steps);
  EXPECT_THAT(all, HasSubstr("bcast chain, 4 ranks, root 1\n"));
  EXPECT_THAT(all, HasSubstr("view 0: recv, announced by flag 0, 2 slots of 16 KiB\n"));
}

TEST(DrawText, DescribesStepsInWords) {
  std::string one = draw_text(testing::chain_bcast(4, 1, 16384), 2);
  EXPECT_THAT(one, HasSubstr("rank 2 lane 0:\n    0  publish view 0 (recv)\n    1  loop over chunks of 16 KiB\n"
                             "    2    wait rank 1 flag 0 of view 0 (recv) >= pass\n"
                             "    3    if own view 0 (recv) is staged: wait rank 3 flag 1 >= pass - 2\n"));
  EXPECT_THAT(one, HasSubstr("copy recv and own view 0 (recv) <- rank 1 view 0 (recv) [chunks of 16 KiB]"));
  EXPECT_THAT(one, HasSubstr("wait rank 3 flag 1 >= all passes over chunks of 16 KiB"));
  EXPECT_THAT(one, Not(HasSubstr("rank 3 lane"))) << "only the rank that was asked for";
  EXPECT_THAT(draw_text(testing::block_allreduce(2, 512)),
              HasSubstr("reduce recv <- own view 0 (send) + rank 1 view 0 (send) [chunks of 512 B, sub-block 0 of 2]"));
}

TEST(DrawText, RefusesAMalformedPlan) {
  Plan plan = testing::chain_bcast(2, 0, 64);
  plan.programs[0].lanes[0].steps[0].view = 9;
  EXPECT_THAT(draw_text(plan), HasSubstr("malformed plan: rank 0 lane 0 step 0: publishes a view that does not exist"));
}

TEST(Timeline, StepsCostTheGivenUnits) {
  // One chunk: the root posts its flag at once; the reader sees it after the latency of a flag, copies, and posts
  // its own.
  Timeline run = timeline(testing::flat_bcast(2, 0, 256), 4, 64, AccessMode::direct);
  EXPECT_EQ(run.problem, "");
  EXPECT_EQ(run.end, post_units + flag_units + copy_units + post_units + flag_units);
  ASSERT_EQ(run.arrows.size(), 2u);
  for (const Timeline::Arrow& arrow : run.arrows) {
    EXPECT_TRUE(arrow.held);
    EXPECT_EQ(arrow.to - arrow.from, flag_units);
  }
}

TEST(Timeline, LanesOverlap) {
  auto end = [](size_t chunks) {
    return timeline(testing::two_lane_allreduce(4, 256), 4 * chunks, 64, AccessMode::direct).end;
  };
  // Without overlap each further chunk would cost as much as the first.
  EXPECT_LT(end(8), 3 * end(1));
}

TEST(DrawSvg, HasABoxPerTimedStepAndAnArrowPerWait) {
  Plan plan = testing::flat_bcast(5, 3, 256);
  Timeline run = timeline(plan, 12, 64, AccessMode::staged);
  std::string svg = draw_svg(plan, 12, 64, AccessMode::staged);
  EXPECT_EQ(occurrences(svg, "<title>"), run.boxes.size());
  EXPECT_EQ(occurrences(svg, "stroke-width=\"0.9\"") + occurrences(svg, "stroke-width=\"0.6\""), run.arrows.size());
  EXPECT_EQ(occurrences(svg, ">copy 1<"), 5u) << "the first chunk of every rank";
  for (const char* what : {"rank 0", "rank 4", "rank 3 *", "bcast flat, 5 ranks, root 3", "768 B", "views staged"})
    EXPECT_THAT(svg, HasSubstr(what));
}

TEST(DrawSvg, IsWellFormed) {
  for (int ranks : {1, 2, 16, 64}) {
    std::string svg = draw_svg(testing::block_allreduce(ranks, 64 * 64), 128, 64);
    EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    // In titles, < of arrows and > of waits would end the document.
    EXPECT_EQ(occurrences(svg, "<- "), 0u);
    EXPECT_EQ(occurrences(svg, "<title>"), occurrences(svg, "</title></rect>"));
    EXPECT_EQ(occurrences(svg, "<text"), occurrences(svg, "</text>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(DrawSvg, NamesTheFault) {
  Plan plan = testing::flat_bcast(2, 0, 64);
  plan.programs[0].lanes.clear();
  EXPECT_THAT(draw_svg(plan, 4, 64), HasSubstr("deadlock: rank 1 does not end"));
}

}  // namespace
}  // namespace coll::plan
