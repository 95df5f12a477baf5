// SPDX-License-Identifier: BSD-3-Clause
// What users write into COLL_BCAST and the like.
#include "model/forced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coll::model {
namespace {

using plan::Collective;
using ::testing::HasSubstr;

// "flat_read@4096 hierarchical@-", or the problem.
std::string read(const std::string& text) {
  std::vector<Forced> ranges;
  const std::string problem = parse_forced(Collective::bcast, text, ranges);
  if (!problem.empty()) return problem;
  std::string words;
  for (const Forced& range : ranges) {
    const algo::Algorithm* algorithm = range.choice.algorithm;
    words += (words.empty() ? "" : " ") + (algorithm == nullptr ? "latency" : std::string(algorithm->name)) + "@" +
             (range.up_to_bytes == SIZE_MAX ? "-" : std::to_string(range.up_to_bytes));
  }
  return words;
}

TEST(Forced, Ranges) {
  EXPECT_EQ(read("flat_read"), "flat_read@-");
  EXPECT_EQ(read("flat_read@4K;hierarchical:chunk=64K"), "flat_read@4096 hierarchical@-");
  EXPECT_EQ(read("latency@512;flat_read:chunk=4K@64K;knomial:k=3@1M"), "latency@512 flat_read@65536 knomial@1048576");
  std::vector<Forced> ranges;
  ASSERT_EQ(parse_forced(Collective::bcast, "flat_read:chunk=4K@64K;knomial:depth=2,k=3", ranges), "");
  EXPECT_EQ(ranges[0].choice.parameters.chunk_bytes, 4096u);
  EXPECT_TRUE(ranges[0].chunk && !ranges[0].k);
  EXPECT_EQ(ranges[1].choice.parameters.k, 3);
  EXPECT_TRUE(ranges[1].k && !ranges[1].chunk);
}

TEST(Forced, ASettingIsReadBack) {
  for (const char* text : {"flat_read:chunk=4096,depth=2", "knomial:chunk=65536,depth=4,k=3", "scatter_allgather"}) {
    Choice choice;
    ASSERT_EQ(parse_choice(Collective::bcast, text, choice), "");
    Choice again;
    ASSERT_EQ(parse_choice(Collective::bcast, setting_text(choice), again), "");
    EXPECT_EQ(setting_text(again), setting_text(choice));
    EXPECT_EQ(setting_text(choice).find(text), 0u) << setting_text(choice);
  }
  EXPECT_EQ(setting_text({}), "latency");
}

TEST(Forced, WrongOnesSayWhatIsWrong) {
  EXPECT_THAT(read("flat_read@"), HasSubstr("'' is no size; write ALGORITHM@SIZE"));
  EXPECT_THAT(read("flat_read@4X"), HasSubstr("'4X' is no size"));
  EXPECT_THAT(read("flat_read@0"), HasSubstr("'0' is no size"));
  EXPECT_THAT(read("flat_read@99999999999999999999G"), HasSubstr("is no size"));
  EXPECT_THAT(read("flat_read;knomial"), HasSubstr("'knomial' is never reached"));
  EXPECT_THAT(read("flat_read@4K;knomial@4K"), HasSubstr("sizes must ascend"));
  EXPECT_THAT(read("flat_read@4K;"), HasSubstr("bcast has no algorithm ''"));
  EXPECT_THAT(read("flat_raed@4K;knomial"), HasSubstr("bcast has no algorithm 'flat_raed'; it has: "));
  EXPECT_THAT(read("knomial:z=3@4K"), HasSubstr("'z=3' is not a parameter"));
}

TEST(Forced, ARangeEndsWithItsSize) {
  std::vector<Forced> ranges;
  ASSERT_EQ(parse_forced(Collective::bcast, "flat_read@4K;knomial@1M", ranges), "");
  const auto found = [&](size_t bytes, bool irregular = false) -> std::string_view {
    const Forced* range = find_forced(ranges, {.bytes = bytes, .irregular = irregular});
    return range == nullptr ? "" : range->choice.algorithm->name;
  };
  EXPECT_EQ(found(0), "flat_read");
  EXPECT_EQ(found(4096), "flat_read");
  EXPECT_EQ(found(4097), "knomial");
  EXPECT_EQ(found((1 << 20) + 1), "");
  EXPECT_EQ(found(0, true), "");  // pieces of unknown lengths may be of any
}

}  // namespace
}  // namespace coll::model
