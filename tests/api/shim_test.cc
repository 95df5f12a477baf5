// SPDX-License-Identifier: BSD-3-Clause
// coll/shim.h: the functions that the MPI shims call.
#include "coll/shim.h"

#include <fstream>
#include <iterator>
#include <map>
#include <regex>

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

// The first call of a process decides whether it keeps statistics: each of these tests has a process of its own.
TEST(Shim, StatisticsAreNotKeptUnlessWanted) {
  run_processes(1, [](Context& c) {
    RANK_CHECK(c, coll_stats_forwarded("MPI_Bcast", nullptr, "a reason", 4, 0) == COLL_ERR_ARG);
    RANK_CHECK(c, strstr(coll_last_error(), "coll_stats_forwarded") != nullptr);
    RANK_CHECK(c, coll_stats_forwarded("MPI_Bcast", "bcast", nullptr, 4, 0) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_stats_forwarded("MPI_Bcast", "bcast", "a reason", 4, 0) == COLL_OK);
    RANK_CHECK(c, coll_stats_write(0) == COLL_OK);
  });
}

TEST(Shim, StatisticsThatCannotBeWrittenAreAnError) {
  const Environment wanted("COLL_STATS", "/nonexistent/%r.json");
  run_processes(1, [](Context& c) {
    std::string function = "MPI_Bcast", collective = "bcast", why = "a reason";
    RANK_CHECK(c, coll_stats_forwarded(function.c_str(), collective.c_str(), why.c_str(), SIZE_MAX, 0) == COLL_OK);
    function = collective = why = "";  // the names were copied
    RANK_CHECK(c, coll_stats_write(7) == COLL_ERR_SYSTEM);
    RANK_CHECK(c, strstr(coll_last_error(), "COLL_STATS") != nullptr);
  });
}

// Calls inside a function are counted under its name, in every form.
TEST(Shim, CountsByFunction) {
  const std::string file = testing::TempDir() + "coll_named_" + std::to_string(getpid());
  const Environment wanted("COLL_STATS", (file + "_%r").c_str());
  run_processes(2, [&](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    coll_stats_inside("MPI_Neighbor_alltoall");
    RANK_CHECK(c, coll_neighbor_exchange(nullptr, 0, nullptr, 0, comm) == COLL_OK);
    coll_stats_inside(nullptr);
    RANK_CHECK(c, coll_stats_spent(nullptr, COLL_STATS_SERVED, 1) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_stats_spent("MPI_Neighbor_alltoall", COLL_STATS_SERVED, 1.5) == COLL_OK);
    RANK_CHECK(c, coll_stats_forwarded("MPI_Bcast", "bcast", "one rank", 8, 0.25) == COLL_OK);
    RANK_CHECK(c, coll_stats_forwarded("MPI_Bcast", "bcast", "datatype", 8, 0.5) == COLL_OK);
    RANK_CHECK(c, coll_neighbor_exchange(nullptr, 0, nullptr, 0, comm) == COLL_OK);
    coll_stats_inside("MPI_Ialltoallw");
    coll_request* request = nullptr;
    RANK_CHECK(c, coll_ineighbor_exchange(nullptr, 0, nullptr, 0, comm, &request) == COLL_OK);
    coll_stats_inside(nullptr);
    RANK_CHECK(c, coll_wait(&request) == COLL_OK);
    // Rank 0's request cannot be complete when it waits for it: rank 1 starts after rank 0's barrier.
    coll_comm* other = nullptr;
    RANK_CHECK(c, coll_comm_split(comm, 0, c.rank, &other) == COLL_OK);
    if (c.rank == 1) RANK_CHECK(c, coll_barrier(other) == COLL_OK);
    RANK_CHECK(c, coll_ibarrier(comm, &request) == COLL_OK);
    if (c.rank == 0) RANK_CHECK(c, coll_barrier(other) == COLL_OK);
    RANK_CHECK(c, coll_wait(&request) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(other) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    double sums[3];
    RANK_CHECK(c, coll_stats_sums(nullptr) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_stats_sums(sums) == COLL_OK && sums[0] >= 2.25 && sums[0] < 2.3 + sums[2] && sums[1] == 0.5);
    const coll_stats_spread spreads[3] = {{1, 2, 3, 0, 1}, {4, 5, 6, 1, 0}, {7, 8, 9, 0, 0}};
    RANK_CHECK(c, coll_stats_all_ranks(2, nullptr) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_stats_all_ranks(2, spreads) == COLL_OK);
    RANK_CHECK(c, coll_stats_write(c.rank) == COLL_OK);
    std::ifstream report(file + "_" + std::to_string(c.rank));
    const std::string text{std::istreambuf_iterator<char>(report), {}};
    for (const char* name : {"neighbor_alltoall", "neighbor_exchange", "alltoallw"})
      RANK_CHECK(c, text.find("\"" + std::string(name) + "\", \"up_to_bytes\": 8, \"calls\": 1") != std::string::npos);
    for (const char* part :
         {"\"MPI_Bcast\", \"served\": 0, \"served_seconds\": 0.000000000, \"forwarded\": 1, \"forwarded_seconds\": "
          "0.500000000, \"one_rank\": 1, \"one_rank_seconds\": 0.250000000",
          "\"function\": \"MPI_Ialltoallw\"", "\"function\": \"coll_start\"",
          "\"function\": \"coll_neighbor_exchange\"",
          "\"forwarded_seconds\": {\"min\": 4.000000000, \"min_rank\": 1, \"mean\": 5.000000000, \"max\": 6.000000000"})
      if (text.find(part) == std::string::npos) c.fail(std::string(part) + " is not in\n" + text);
    if (c.rank == 0) RANK_CHECK(c, text.find("\"function\": \"coll_wait\", \"served\": 1,") != std::string::npos);
    unlink((file + "_" + std::to_string(c.rank)).c_str());
  });
}

// In a reduce-scatter and an allgather a rank knows all counts, which are elements.
TEST(Shim, SizesOfCallsWithCountsAreBytes) {
  const std::string file = testing::TempDir() + "coll_sizes_" + std::to_string(getpid());
  const Environment wanted("COLL_STATS", (file + "_%r").c_str());
  run_processes(2, [&](Context& c) {
    coll_comm* comm = c.comm();
    if (comm == nullptr) return;
    const size_t counts[2] = {300, 200}, own = counts[c.rank];
    std::vector<double> in(500, 1), out(500);
    RANK_CHECK(c, coll_reduce_scatter(in.data(), out.data(), counts, COLL_DOUBLE, COLL_SUM, comm) == COLL_OK);
    coll_request* request = nullptr;
    RANK_CHECK(c,
               coll_ireduce_scatter(in.data(), out.data(), counts, COLL_DOUBLE, COLL_SUM, comm, &request) == COLL_OK);
    RANK_CHECK(c, coll_wait(&request) == COLL_OK);
    RANK_CHECK(c, coll_allgatherv(in.data(), own, out.data(), counts, nullptr, COLL_DOUBLE, comm) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    RANK_CHECK(c, coll_stats_write(c.rank) == COLL_OK);
    std::ifstream report(file + "_" + std::to_string(c.rank));
    const std::string text{std::istreambuf_iterator<char>(report), {}};
    const std::regex row("\"collective\": \"(\\w+)\", \"up_to_bytes\": \\d+, \"calls\": \\d+, \"bytes\": (\\d+)");
    std::map<std::string, unsigned long> bytes;
    for (std::sregex_iterator at(text.begin(), text.end(), row); at != std::sregex_iterator(); ++at)
      bytes[(*at)[1]] += std::stoul((*at)[2]);
    RANK_CHECK(c, bytes["reduce_scatter"] == 2 * 500 * sizeof(double) && bytes["allgather"] == 500 * sizeof(double));
    unlink((file + "_" + std::to_string(c.rank)).c_str());
  });
}

// A target of one-sided communication that waits in a barrier serves its peers in the callback: between naps of 200 us
// each access would take as long. Other load may take the core from a rank that yields, hence several attempts.
TEST(Shim, ARankWhoseOtherWorkMovesDoesNotSleep) {
  run_processes(2, [](Context& c) {
    struct Other {
      int64_t calls = 0;
      bool moves = false;
    } other;
    const auto callback = [](void* context) {
      auto* const of = static_cast<Other*>(context);
      of->calls++;
      if (of->moves) coll_progress_moved();
    };
    coll_comm* comm = c.comm();
    RANK_CHECK(c, coll_comm_set_progress(comm, callback, &other) == COLL_OK);
    const auto calls_in_a_wait = [&](bool moves) {
      other = {.calls = 0, .moves = moves};
      if (c.rank == 1) usleep(50'000);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      return other.calls;
    };
    uint32_t enough = 0;
    for (int attempt = 0; attempt < 20 && enough == 0 && !c.failed(); attempt++) {
      const int64_t asleep = calls_in_a_wait(false), awake = calls_in_a_wait(true);
      enough = awake > 4 * asleep;
      RANK_CHECK(c, coll_bcast(&enough, 1, COLL_UINT32, 0, comm) == COLL_OK);
    }
    RANK_CHECK(c, enough == 1);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
