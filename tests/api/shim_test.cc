// SPDX-License-Identifier: BSD-3-Clause
// coll/shim.h: what the MPI shims call.
#include "coll/shim.h"

#include <fstream>
#include <iterator>

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

// Only the next sparse exchange of the thread has the name, in whatever form.
TEST(Shim, NamesSparseExchanges) {
  const std::string file = testing::TempDir() + "coll_named_" + std::to_string(getpid());
  const Environment wanted("COLL_STATS", (file + "_%r").c_str());
  run_processes(2, [&](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    coll_stats_served_as("neighbor_alltoall");
    RANK_CHECK(c, coll_neighbor_exchange(nullptr, 0, nullptr, 0, comm) == COLL_OK);
    RANK_CHECK(c, coll_neighbor_exchange(nullptr, 0, nullptr, 0, comm) == COLL_OK);
    coll_stats_served_as("alltoallw");
    coll_request* request = nullptr;
    RANK_CHECK(c, coll_ineighbor_exchange(nullptr, 0, nullptr, 0, comm, &request) == COLL_OK);
    RANK_CHECK(c, coll_wait(&request) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    RANK_CHECK(c, coll_stats_write(c.rank) == COLL_OK);
    std::ifstream report(file + "_" + std::to_string(c.rank));
    const std::string text{std::istreambuf_iterator<char>(report), {}};
    for (const char* name : {"neighbor_alltoall", "neighbor_exchange", "alltoallw"})
      RANK_CHECK(c, text.find("\"" + std::string(name) + "\", \"up_to_bytes\": 8, \"calls\": 1") != std::string::npos);
    unlink((file + "_" + std::to_string(c.rank)).c_str());
  });
}

}  // namespace
