// SPDX-License-Identifier: BSD-3-Clause
// A communicator uses the choices of a table, the same on all ranks; variables have precedence; the built-in defaults
// serve what the table cannot.
#include <fstream>
#include <sstream>

#include "comm/collectives.h"
#include "mem/processor.h"
#include "model/own_table.h"
#include "model/table_json.h"

using namespace ranks;
namespace model = coll::model;
using coll::plan::Collective;

namespace {

model::Chosen row(Collective collective, size_t up_to_bytes, const char* algorithm, double measured_us = 0) {
  model::Chosen made{
      .collective = collective, .up_to_bytes = up_to_bytes, .algorithm = coll::algo::find(collective, algorithm)};
  made.measured_us = measured_us;
  return made;
}

// A file with these choices that exists as long as the object.
class TableFile {
 public:
  explicit TableFile(std::vector<model::Chosen> choices, const std::string& name = "chosen",
                     std::optional<model::RepMovsb> rep_movsb = {})
      : path(testing::TempDir() + "coll-table-" + name + std::to_string(getpid()) + ".json") {
    model::Table table = model::find_table("default", {}, {}).table;
    table.name = name;
    table.date = "2026-11-21";
    table.rep_movsb = rep_movsb;
    table.choices = std::move(choices);
    std::ofstream(path) << model::write_table(table);
  }
  ~TableFile() { unlink(path.c_str()); }
  const std::string path;
};

// Runs `body` on two ranks and returns rank 0's output on stderr. The rows above are for staged data; kernel-assisted
// copies, which would be selected before them on some machines, are disabled.
std::string log_of(const Function& body) {
  Environment staged("COLL_TRANSPORT", "shm");
  return stderr_of_rank_0(body);
}

void bcast(Context& c, coll_comm* comm, size_t bytes) {
  std::vector<uint32_t> data(bytes / 4);
  if (c.rank == 0)
    for (size_t i = 0; i < data.size(); i++) data[i] = input(0, i, 1);
  RANK_CHECK(c, coll_bcast(data.data(), data.size(), COLL_UINT32, 0, comm) == COLL_OK);
  for (size_t i = 0; i < data.size(); i++) RANK_CHECK(c, data[i] == input(0, i, 1));
}

void bcasts(Context& c) {
  coll_comm* comm = c.comm();
  for (size_t bytes : {4096, 16384, 262144}) bcast(c, comm, bytes);
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

TEST(Table, ItsChoicesAreUsed) {
  std::vector<model::Chosen> choices = {row(Collective::bcast, 8192, "shm_pipelined"),
                                        row(Collective::bcast, 65536, "sequential_write"),
                                        row(Collective::bcast, 1 << 20, "scatter_allgather")};
  choices[0].parameters.chunk_bytes = 2048;
  TableFile file(choices);
  Environment table("COLL_TABLE", file.path.c_str()), log("COLL_LOG", "debug");
  const std::string text = log_of(bcasts);
  for (const char* words :
       {"; table: chosen of 2026-11-21", "was measured on another machine (", "used because COLL_TABLE names it",
        "bcast of 4096 bytes on 2 ranks: shm_pipelined:chunk=2048,depth=4 (table row bcast up to 8 KiB of 2 "
        "ranks)",
        "bcast of 16384 bytes on 2 ranks: sequential_write", "bcast of 262144 bytes on 2 ranks: scatter_all"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\nis not in\n" << text;
}

TEST(Table, ItsSizesForRepMovsbAreUsed) {
  TableFile file({}, "movsb", model::RepMovsb{.load_min_bytes = 12345});
  Environment table("COLL_TABLE", file.path.c_str());
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    if (coll::mem::forced_profile() == nullptr) {
      RANK_CHECK(c, coll::mem::rep_movsb_load_min_bytes() == 12345);
      RANK_CHECK(c, coll::mem::rep_movsb_store_min_bytes() == model::RepMovsb::never);
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST(Table, VariablesComeFirst) {
  TableFile file({row(Collective::bcast, 1 << 20, "scatter_allgather")});
  Environment table("COLL_TABLE", file.path.c_str()), log("COLL_LOG", "debug"),
      forced("COLL_BCAST", "shm_pipelined:chunk=1K@4K;knomial:chunk=8K@64K"), chunk("COLL_CHUNK", "2K");
  const std::string text = log_of(bcasts);
  for (const char* words : {"bcast of 4096 bytes on 2 ranks: shm_pipelined:chunk=1024,depth=4 (a variable)",
                            "bcast of 16384 bytes on 2 ranks: knomial:chunk=8192",
                            "bcast of 262144 bytes on 2 ranks: scatter_allgather:chunk=2048"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\nis not in\n" << text;
}

TEST(Table, ThrottleIsThatOfThrottledAlgorithms) {
  Environment log("COLL_LOG", "debug"), forced("COLL_SCATTER", "throttled_read@64K;throttled_read:k=3"),
      throttle("COLL_THROTTLE", "5");
  const std::string text = log_of([](Context& c) {
    coll_comm* comm = c.comm();
    std::vector<char> in(1 << 20), out(1 << 19);
    for (size_t count : {1 << 15, 1 << 19})
      RANK_CHECK(c, coll_scatter(in.data(), out.data(), count, COLL_BYTE, 0, comm) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  for (const char* words : {"scatter of 32768 bytes on 2 ranks: throttled_read:chunk=16384,depth=4,k=5",
                            "scatter of 524288 bytes on 2 ranks: throttled_read:chunk=16384,depth=4,k=3"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\nis not in\n" << text;
}

// The tables of the ranks contradict each other: all ranks use that of rank 0, because they must agree.
TEST(Table, RankZerosCounts) {
  TableFile zero({row(Collective::bcast, 1 << 20, "scatter_allgather")}, "zero");
  TableFile one({row(Collective::bcast, 1 << 20, "shm_pipelined")}, "one");
  run_processes(3, [&](Context& c) {
    setenv("COLL_TABLE", (c.rank == 0 ? zero : one).path.c_str(), 1);
    coll_comm* comm = c.comm();
    RANK_CHECK(c, strstr(coll_comm_describe(comm), "; table: zero of") != nullptr);
    for (size_t bytes : {4096, 16384, 262144}) bcast(c, comm, bytes);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST(Table, RowsThatDoNotFitAreReplacedByTheDefaults) {
  std::vector<model::Chosen> choices = {row(Collective::bcast, 1 << 20, "shm_pipelined")};
  choices[0].parameters.chunk_bytes = 1 << 30;
  TableFile file(choices);
  Environment table("COLL_TABLE", file.path.c_str()), log("COLL_LOG", "debug");
  EXPECT_NE(log_of(bcasts).find("bcast of 4096 bytes on 2 ranks: flat_read"), std::string::npos);
}

TEST(Table, ThatCannotBeReadIsAnErrorOnAllRanks) {
  for (const char* wrong : {"/nowhere/table.json", "epic"}) {
    Environment table("COLL_TABLE", wrong);
    run_processes(2, [&](Context& c) {
      coll_bootstrap bootstrap = c.bootstrap();
      coll_comm* comm = nullptr;
      RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_ARG);
      RANK_CHECK(c, strstr(coll_last_error(), "COLL_TABLE") != nullptr && strstr(coll_last_error(), wrong) != nullptr);
    });
  }
}

// The latency path serves sizes up to the limit of the table, then the algorithms of the table do, with right results.
TEST(Table, LatencyRows) {
  model::Chosen latency = row(Collective::bcast, 64, "");
  TableFile file({latency, row(Collective::bcast, 1 << 20, "shm_pipelined")});
  Environment table("COLL_TABLE", file.path.c_str()), log("COLL_LOG", "debug");
  const std::string text = log_of([](Context& c) {
    coll_comm* comm = c.comm();
    for (size_t bytes : {64, 128}) bcast(c, comm, bytes);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  EXPECT_EQ(text.find("bcast of 64 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("bcast of 128 bytes on 2 ranks: shm_pipelined"), std::string::npos) << text;
}

std::string log_of_many(int calls) {
  return log_of([=](Context& c) {
    coll_comm* comm = c.comm();
    std::vector<uint32_t> data(4096);
    for (int i = 0; i < calls; i++)
      RANK_CHECK(c, coll_bcast(data.data(), data.size(), COLL_UINT32, 0, comm) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

size_t times_reported(const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find("run `collctl calibrate` again", at)) != std::string::npos; at++) count++;
  return count;
}

// No machine moves 16 KiB in a nanosecond, and none needs ten seconds.
TEST(Drift, IsReportedOnceIfTheTableIsFarOff) {
  for (double wrong_us : {0.001, 1e7}) {
    TableFile file({row(Collective::bcast, 16384, "flat_read", wrong_us)});
    Environment table("COLL_TABLE", file.path.c_str()), log("COLL_LOG", "info");
    const std::string text = log_of_many(40000);
    EXPECT_EQ(times_reported(text), 1u) << text;
    EXPECT_NE(text.find("bcast of about 16384 bytes takes "), std::string::npos) << text;
  }
}

TEST(Drift, IsNotReportedByDefaultOrWithoutTimes) {
  TableFile timed({row(Collective::bcast, 16384, "flat_read", 0.001)}, "timed"),
      untimed({row(Collective::bcast, 16384, "flat_read")}, "untimed");
  {
    Environment table("COLL_TABLE", timed.path.c_str());
    EXPECT_EQ(log_of_many(20000), "");
    Environment log("COLL_LOG", "info"), drift("COLL_DRIFT", "off");
    EXPECT_EQ(times_reported(log_of_many(20000)), 0u);
  }
  Environment table("COLL_TABLE", untimed.path.c_str()), log("COLL_LOG", "info");
  EXPECT_EQ(times_reported(log_of_many(20000)), 0u);
}

}  // namespace
