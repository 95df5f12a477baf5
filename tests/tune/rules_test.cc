// SPDX-License-Identifier: BSD-3-Clause
// The grammar of rules: values of COLL_BCAST and the like, files of rules, and the faults of wrong ones.
#include "tune/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tune/select.h"
#include "tune/shipped.h"

namespace coll::tune {
namespace {

using plan::Collective;
using ::testing::HasSubstr;

// "flat_read@4096 hierarchical@-", or the problem.
std::string read(const std::string& text) {
  std::vector<Range> ranges;
  const std::string problem = parse_ranges(Collective::bcast, text, ranges);
  if (!problem.empty()) return problem;
  std::string words;
  for (const Range& range : ranges) {
    words += words.empty() ? "" : " ";
    for (const Candidate& candidate : range.candidates)
      words += (&candidate == &range.candidates[0] ? "" : "|") + (candidate.kind == Candidate::Kind::latency ? "latency"
                                                                  : candidate.kind == Candidate::Kind::priced
                                                                      ? "priced"
                                                                      : std::string(candidate.algorithm->name));
    words += "@" + (range.up_to.empty() ? "-" : std::to_string(size_t(range.up_to.constant().value_or(0))));
  }
  return words;
}

// The setting that a broadcast of `bytes` uses.
std::string forced(const std::string& text, size_t bytes, int ranks = 4) {
  std::vector<Range> ranges;
  EXPECT_EQ(parse_ranges(Collective::bcast, text, ranges), "");
  const Situation situation{.collective = Collective::bcast, .bytes = bytes, .ranks = ranks};
  const Selection selected = Selector().select(situation, {.ranges = ranges});
  return selected.by == Source::forced ? setting_text(selected.choice) : "not forced";
}

TEST(Ranges, AsUsersWriteThem) {
  EXPECT_EQ(read("flat_read"), "flat_read@-");
  EXPECT_EQ(read("flat_read@4K;hierarchical:chunk=64K"), "flat_read@4096 hierarchical@-");
  EXPECT_EQ(read("latency@512;flat_read:chunk=4K@64K;knomial:k=3@1M"), "latency@512 flat_read@65536 knomial@1048576");
  EXPECT_EQ(read("flat_read | knomial:k=2 @4K ; priced"), "flat_read|knomial@4096 priced@-");
}

TEST(Ranges, EndWithTheirSize) {
  const std::string text = "flat_read:chunk=4K,depth=2@4K;knomial:chunk=8K,depth=4,k=3@1M";
  EXPECT_EQ(forced(text, 1), "flat_read:chunk=4096,depth=2");
  EXPECT_EQ(forced(text, 4096), "flat_read:chunk=4096,depth=2");
  EXPECT_EQ(forced(text, 4097), "knomial:chunk=8192,depth=4,k=3");
  EXPECT_EQ(forced(text, (1 << 20) + 1), "not forced");
  std::vector<Range> ranges;
  ASSERT_EQ(parse_ranges(Collective::gather, "parallel_write@4K", ranges), "");
  EXPECT_FALSE(ranges[0].contains({.collective = Collective::gather, .irregular = true}, shipped()));
}

TEST(Ranges, ValuesMayDependOnTheCall) {
  EXPECT_EQ(forced("flat_read:chunk=max(n/4, 4K),depth=2", 1 << 20), "flat_read:chunk=262144,depth=2");
  EXPECT_EQ(forced("flat_read:chunk=max(n/4, 4K),depth=2", 64), "flat_read:chunk=4096,depth=2");
  EXPECT_EQ(forced("flat_read:chunk=p*16K,ring=256K", 1 << 20), "flat_read:chunk=65536,depth=4");
  EXPECT_EQ(forced("flat_read:chunk=4K@p*4K", 16385), "not forced");
  EXPECT_EQ(forced("flat_read:chunk=down(100K)-1K+1K*2/2,ring=ring", 1 << 20), "flat_read:chunk=65536,depth=8");
}

TEST(Ranges, SenselessValuesAreKeptInBounds) {
  EXPECT_EQ(forced("flat_read:chunk=0/0,depth=1", 1 << 20), "flat_read:chunk=64,depth=1");
  EXPECT_EQ(forced("flat_read:chunk=1/0,depth=p-9", 1 << 20), "flat_read:chunk=1073741824,depth=1");
  EXPECT_EQ(forced("flat_read@1-2*p", 1), "not forced");
}

TEST(Ranges, AllCandidatesOfTheUserAreUsed) {
  std::vector<Range> ranges;
  ASSERT_EQ(parse_ranges(Collective::bcast, "flat_read | knomial:k=2 | flat_read:chunk=16K,copy=cma", ranges), "");
  Situation situation{.collective = Collective::bcast, .bytes = 1 << 20, .ranks = 4};
  EXPECT_EQ(Selector().select(situation, {.ranges = ranges}).alternatives.size(), 1u);  // CMA does not work
  situation.cma_works = true;
  EXPECT_EQ(Selector().select(situation, {.ranges = ranges}).alternatives.size(), 2u);
}

TEST(Ranges, ASettingIsReadBack) {
  for (const char* text : {"flat_read:chunk=4096,depth=2", "knomial:chunk=65536,depth=4,k=3", "scatter_allgather",
                           "flat_read:chunk=4096,depth=2,copy=cma"}) {
    Choice choice, again;
    ASSERT_EQ(parse_choice(Collective::bcast, text, choice), "");
    ASSERT_EQ(parse_choice(Collective::bcast, rule_text(choice), again), "");
    EXPECT_TRUE(same(choice, again));
    EXPECT_EQ(rule_text(choice).find(text), 0u) << rule_text(choice);
  }
  EXPECT_EQ(setting_text({}), "latency");
  Choice choice;
  EXPECT_THAT(parse_choice(Collective::bcast, "flat_read:chunk=n/4", choice), HasSubstr("chunk depends on the call"));
  EXPECT_THAT(parse_choice(Collective::bcast, "latency", choice), HasSubstr("is not one algorithm"));
}

TEST(Ranges, WrongOnesReportFaultPlaceAndFix) {
  EXPECT_THAT(read("flat_read@"), HasSubstr("column 11: '' is no size; write ALGORITHM@SIZE"));
  EXPECT_THAT(read("flat_read@4X"), HasSubstr("column 11: '4X' is no size"));
  EXPECT_THAT(read("flat_read@0"), HasSubstr("'0' is no size"));
  EXPECT_THAT(read("flat_read@99999999999999999999G"), HasSubstr("is no size"));
  EXPECT_THAT(read("flat_read;knomial"), HasSubstr("column 11: 'knomial' is never reached"));
  EXPECT_THAT(read("flat_read@4K;knomial@4K"), HasSubstr("sizes must ascend"));
  EXPECT_THAT(read("flat_read@4K;"), HasSubstr("bcast has no algorithm ''"));
  EXPECT_THAT(read("flat_raed@4K;knomial"), HasSubstr("column 1: bcast has no algorithm 'flat_raed'; it has: "));
  EXPECT_THAT(read("knomial:z=3@4K"), HasSubstr("column 9: 'z=3' is not a parameter"));
  EXPECT_THAT(read("knomial:chunk=3"), HasSubstr("'chunk=3' is not a parameter"));
  EXPECT_THAT(read("flat_read:depth=3"), HasSubstr("column 11: 'depth=3': a ring has a power of two of slots; "
                                                   "write depth=2 or depth=4"));
  EXPECT_THAT(read("flat_read:chunk=m/2"), HasSubstr("column 17: 'm' is unknown; use a number, min(), max()"));
  EXPECT_THAT(read("flat_read:chunk=max(4K"), HasSubstr("column 23: ')' is missing"));
  EXPECT_THAT(read("flat_read:chunk=avg(1,2)"), HasSubstr("'avg' is no function; use min, max, up or down"));
  EXPECT_THAT(read("flat_read knomial"), HasSubstr("column 11: 'knomial' is left over"));
  EXPECT_THAT(read("flat_read@4K\nknomial"), HasSubstr("column 14: 'knomial' is left over"));
  EXPECT_THAT(read("knomial:k=2,chunk=4K,k=3"), HasSubstr("column 22: 'k=3': k is given twice"));
  EXPECT_EQ(read("flat_read@4K;\n  knomial\n"), "flat_read@4096 knomial@-");
  EXPECT_THAT(read("flat_read:copy=kcoll"), HasSubstr("copy=cma or copy=staged"));
}

TEST(Sizes, AreWholeNumbersWithAUnit) {
  for (const auto& [text, size] : {std::pair{"4096", size_t(4096)},
                                   {"64K", 65536},
                                   {"1m", 1 << 20},
                                   {"2G", size_t(2) << 30},
                                   {"", 0},
                                   {"K", 0},
                                   {"4X", 0},
                                   {"4KB", 0},
                                   {"-1", 0},
                                   {" 4", 0},
                                   {"0.3", 0}})
    EXPECT_EQ(parse_size(text), size) << text;
}

// The setting that a book chooses for a broadcast, or the fault of the book.
std::string by(const std::string& text, const Situation& situation) {
  Book book;
  if (const topo::Status status = book.add(text, "my.rules"); !status.ok()) return status.text();
  if (const topo::Status status = book.check(); !status.ok()) return status.text();
  const Book::Found found = book.find(situation);
  if (found.rule == nullptr) return "none";
  const Choice choice = made(found.range->candidates.front(), situation, book, false);
  return setting_text(choice) + " line " + std::to_string(found.rule->line) + " " + found.rule->evidence;
}

TEST(Books, TheFirstRuleThatHoldsDecides) {
  const std::string text =
      "# comment\n"
      "when p>2\n"
      "bcast[oversubscribed, n<=4K]: flat_read:chunk=up(n),depth=1 -- Zen 9, abc\n"
      "bcast[levels>1|mapped]: hierarchical:chunk=piece,\n"
      "  depth=4@64K -- Zen 8, def\n"
      "when\n"
      "piece[n>32K] = 8K -- here\n"
      "piece = 2*2K\n"
      "bcast: knomial:chunk=64K,depth=2,k=3\n";
  Situation situation{.collective = Collective::bcast, .bytes = 4000, .ranks = 4, .oversubscribed = true};
  EXPECT_EQ(by(text, situation), "flat_read:chunk=4096,depth=1 line 3 Zen 9, abc");
  situation.ranks = 2;
  EXPECT_EQ(by(text, situation), "knomial:chunk=4096,depth=1,k=3 line 9 ");  // one slot as long as the data
  situation.ranks = 4, situation.bytes = 32 << 10;
  EXPECT_EQ(by(text, situation), "knomial:chunk=32768,depth=1,k=3 line 9 ");
  situation.mapped = true;
  EXPECT_EQ(by(text, situation), "hierarchical:chunk=4096,depth=4 line 4 Zen 8, def");
  situation.bytes = 64 << 10;
  EXPECT_EQ(by(text, situation), "hierarchical:chunk=8192,depth=4 line 4 Zen 8, def");
  situation.bytes += 1;
  EXPECT_EQ(by(text, situation), "knomial:chunk=65536,depth=2,k=3 line 9 ");
}

TEST(Books, KnowTheProcessor) {
  const std::string text = "bcast[processor~Neoverse|processor~\"EPYC 9\"]: knomial:k=2\nbcast: flat_read\n";
  Situation situation{.collective = Collective::bcast, .processor = "AMD EPYC 9B14"};
  EXPECT_THAT(by(text, situation), HasSubstr("knomial"));
  situation.processor = "AMD EPYC 7B13";
  EXPECT_THAT(by(text, situation), HasSubstr("flat_read"));
}

TEST(Books, BadLinesHaveTheirPlaceAndAFix) {
  const auto problem = [](const std::string& text) { return by(text, {}); };
  EXPECT_THAT(problem("bcast: flat_read\nbcats: flat_read\n"), HasSubstr("my.rules:2:1: 'bcats' is no collective"));
  EXPECT_THAT(problem("bcast[p>2: flat_read\n"), HasSubstr("my.rules:1:10: ']' is missing"));
  EXPECT_THAT(problem("bcast[p>2]: flat_raed\n"), HasSubstr("my.rules:1:13: bcast has no algorithm 'flat_raed'"));
  EXPECT_THAT(
      problem("bcast[ovresubscribed]: flat_read\n"),
      HasSubstr("my.rules:1:7: 'ovresubscribed' is unknown; define it as ovresubscribed = NUMBER, or use one of n, "));
  EXPECT_THAT(problem("bcast = 4\n"), HasSubstr("'bcast' is a collective; write ':' before algorithms"));
  EXPECT_THAT(problem("a = b*2\nb = a\n"), HasSubstr("uses itself"));
  EXPECT_THAT(problem("any: flat_read\n"), HasSubstr("'flat_read' does not serve every collective; use priced"));
  EXPECT_THAT(problem("bcast: flat_read flat_read\n"), HasSubstr("my.rules:1:18: 'flat_read' is left over"));
  EXPECT_THAT(problem("a = 1K2\n"), HasSubstr("my.rules:1:5: '1K2' is no number"));
  EXPECT_THAT(problem("bcast[processor~]: flat_read\n"), HasSubstr("a word of the processor's name is missing"));
  EXPECT_THAT(
      problem(
          "a = "
          "((((((((((((((((1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+(1+1))))))))))))))))))))))))))))))))))\n"),
      HasSubstr("nested too deeply"));
  std::string nested = "1";
  for (int i = 0; i < 20; ++i) nested = "max(1, " + nested + ")";
  EXPECT_THAT(problem("a = " + nested + "\n"), HasSubstr("nested too deeply"));
  EXPECT_THAT(problem("a = " + std::string(100000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(problem("a = " + std::string(100000, '!')), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace coll::tune
