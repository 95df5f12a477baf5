// SPDX-License-Identifier: BSD-3-Clause
#include "topo/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coll::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Sensitivity parsed(std::string_view text) {
  Sensitivity sensitivity;
  const Status status = Sensitivity::parse(text, sensitivity);
  EXPECT_TRUE(status.ok()) << text << ": " << status.text();
  return sensitivity;
}

TEST(Sensitivity, ReadsDomainsInAnyOrder) {
  const Sensitivity made = parsed(" socket, l3,numa");

  EXPECT_THAT(made.domains, ElementsAre(Domain::l3, Domain::numa, Domain::socket));
  EXPECT_EQ(made.text(), "l3,numa,socket");
  EXPECT_EQ(parsed("package").text(), "socket");
}

TEST(Sensitivity, ReadsFlat) {
  EXPECT_TRUE(parsed("flat").flat());
  EXPECT_TRUE(parsed("").flat());
  EXPECT_EQ(parsed("flat").text(), "flat");
}

TEST(Sensitivity, ReadsGroups) {
  const Sensitivity made = parsed("4-7,0-3 / 0-7");

  ASSERT_EQ(made.groups.size(), 2u);
  EXPECT_THAT(made.groups[0], ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_EQ(made.text(), "0-3,4-7/0-7");
  EXPECT_EQ(parsed("4+0+2,5+1-1+3").text(), "0+2+4,1+3+5");
  EXPECT_EQ(parsed("0").text(), "0");
}

TEST(Sensitivity, ReadsItsOwnText) {
  for (const char *text : {"flat", "core", "l2,l3", "numa,socket", "0-3,4-7/0-7", "0+2-4,1+5-6"})
    EXPECT_EQ(parsed(parsed(text).text()), parsed(text)) << text;
}

TEST(Sensitivity, RefusesWithCauseAndHint) {
  const std::pair<const char *, const char *> cases[] = {
      {"numa,nuna", "unknown word 'nuna'"},
      {"numa,,socket", "unknown word ''"},
      {"numa,numa", "'numa' is given twice"},
      {"socket,package", "'package' is given twice"},
      {"0-3,", "no rank or range of ranks: ''"},
      {"0-", "no rank or range of ranks: '0-'"},
      {"3-0", "runs backwards"},
      {"0+0", "rank 0 is twice"},
      {"0-2+1", "rank 1 is twice"},
      {"0-99999999", "no rank or range of ranks"},
      {"99999999999999999999", "no rank or range of ranks"},
      {"/", "no rank or range of ranks: ''"},
  };
  for (const auto &[text, cause] : cases) {
    Sensitivity untouched = Sensitivity::standard();
    const Status status = Sensitivity::parse(text, untouched);
    EXPECT_THAT(status.text(), HasSubstr(cause)) << text;
    EXPECT_THAT(status.text(), HasSubstr("write domains as in")) << text;
    EXPECT_EQ(untouched, Sensitivity::standard()) << text;
  }
}

TEST(Sensitivity, ChecksGroupsAgainstTheRanks) {
  EXPECT_TRUE(parsed("0-3,4-7/0-7").check(8).ok());
  EXPECT_TRUE(parsed("numa").check(8).ok());
  EXPECT_THAT(parsed("0-3,4-7").check(9).text(), HasSubstr("level 1 of the groups leaves out rank 8 of 9"));
  EXPECT_THAT(parsed("0-3,4-7").check(4).text(), HasSubstr("names rank 4 but there are only 4 ranks"));
  EXPECT_THAT(parsed("0-3,3-7").check(8).text(), HasSubstr("rank 3 in two groups"));
  EXPECT_THAT(parsed("0-3,4-7/0-1,2-7").check(8).text(), HasSubstr("level 2 of the groups splits the group 0-3"));
}

}  // namespace
}  // namespace coll::topo
