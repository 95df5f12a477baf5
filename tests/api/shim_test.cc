// SPDX-License-Identifier: BSD-3-Clause
// coll/shim.h: what the MPI shims call.
#include "coll/shim.h"

#include "comm/ranks.h"

using namespace ranks;

namespace {

TEST(Shim, SettingsAreReadFromTheEnvironment) {
  EXPECT_EQ(coll_setting(nullptr), nullptr);
  EXPECT_EQ(coll_setting("COLL_NODE_SIZE"), nullptr);
  const Environment set("COLL_NODE_SIZE", "3");
  ASSERT_NE(coll_setting("COLL_NODE_SIZE"), nullptr);
  EXPECT_STREQ(coll_setting("COLL_NODE_SIZE"), "3");
}

// The first call of a process decides whether statistics are kept: each of these tests has a process of its own.
TEST(Shim, StatisticsAreNotKeptUnlessWanted) {
  run_processes(1, [](Context& c) {
    RANK_CHECK(c, coll_stats_forwarded(nullptr, "a reason", 4) == COLL_ERR_ARG);
    RANK_CHECK(c, strstr(coll_last_error(), "coll_stats_forwarded") != nullptr);
    RANK_CHECK(c, coll_stats_forwarded("bcast", nullptr, 4) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_stats_forwarded("bcast", "a reason", 4) == COLL_OK);
    RANK_CHECK(c, coll_stats_write(0) == COLL_OK);
  });
}

TEST(Shim, StatisticsThatCannotBeWrittenAreAnError) {
  const Environment wanted("COLL_STATS", "/nonexistent/%r.json");
  run_processes(1, [](Context& c) {
    std::string collective = "bcast", why = "a reason";
    RANK_CHECK(c, coll_stats_forwarded(collective.c_str(), why.c_str(), SIZE_MAX) == COLL_OK);
    collective = why = "";  // they were copied
    RANK_CHECK(c, coll_stats_write(7) == COLL_ERR_SYSTEM);
    RANK_CHECK(c, strstr(coll_last_error(), "COLL_STATS") != nullptr);
  });
}

}  // namespace
