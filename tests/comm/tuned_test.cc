// SPDX-License-Identifier: BSD-3-Clause
// Auto-tuned calls: all ranks decide alike, however fast each of them is; no decision changes a bit; a bad choice is
// corrected; and the next start uses the stored results.
#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "api/handles.h"
#include "comm/ranks.h"
#include "comm/tuning.h"
#include "model/own_table.h"
#include "model/table_json.h"

using namespace ranks;
namespace model = coll::model;
namespace tune = coll::tune;
using coll::plan::Collective;

namespace {

// The decisions of a rank so far, equal on all ranks.
std::string decisions(const coll_comm* comm) {
  std::string text;
  const coll::comm::Tuning* tuning = comm->comm->tuning();
  if (tuning == nullptr) return "off";
  tuning->tuner().visit([&](Collective collective, bool, bool request, const tune::Cell& cell) {
    text += std::string(coll::plan::name(collective)) + (request ? "*" : "") + ' ' + std::to_string(cell.now()) + '/' +
            std::to_string(cell.candidates().size()) + '/' + std::to_string(cell.trials());
    for (const tune::TimedChoice& candidate : cell.candidates()) text += ' ' + std::to_string(candidate.us);
    text += '\n';
  });
  return text;
}

const tune::Cell* cell_of(const coll_comm* comm, Collective wanted) {
  const tune::Cell* found = nullptr;
  comm->comm->tuning()->tuner().visit([&](Collective collective, bool, bool, const tune::Cell& cell) {
    if (collective == wanted) found = &cell;
  });
  return found;
}

uint64_t digest(const std::string& text, uint64_t before) {
  for (const char c : text) before = (before ^ uint8_t(c)) * 0x100000001b3u;
  return before;
}

void compare_digests(Context& c, uint64_t own) {
  std::vector<uint64_t> all(size_t(c.ranks));
  Context::allgather(&own, all.data(), sizeof own, &c);
  for (const uint64_t each : all) RANK_CHECK(c, each == all[0]);
}

// The ranks are slow in turn, and one rank always.
void be_late(Context& c, std::mt19937& random) {
  const int64_t until = now_ns() + (random() % 5 == 0 || c.rank == 1 ? int64_t(random() % 30000) : 0);
  while (now_ns() < until) {}
}

// Sums that depend on the order, and blocks; the same in every call.
struct Buffers {
  Buffers(const Context& c, size_t floats)
      : count(floats), ranks(size_t(c.ranks)), send(count * ranks), recv(count * ranks), first(2 * count) {
    for (size_t i = 0; i < send.size(); i++) send[i] = float((i * 7919 + size_t(c.rank) * 104729) % 9973) / 7;
  }
  size_t count, ranks;
  std::vector<float> send, recv, first;
};

void call_all(Context& c, coll_comm* comm, Buffers& b, int call) {
  const int root = call % c.ranks;
  RANK_CHECK(c, coll_allreduce(b.send.data(), b.recv.data(), b.count, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
  if (call == 0) std::copy_n(b.recv.begin(), b.count, b.first.begin());
  RANK_CHECK(c, std::equal(b.recv.begin(), b.recv.begin() + ptrdiff_t(b.count), b.first.begin()));
  if (c.ranks > 8) return;  // each call takes a time slice of every rank
  RANK_CHECK(c, coll_scan(b.send.data(), b.recv.data(), b.count, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
  if (call == 0) std::copy_n(b.recv.begin(), b.count, b.first.begin() + ptrdiff_t(b.count));
  RANK_CHECK(c, std::equal(b.recv.begin(), b.recv.begin() + ptrdiff_t(b.count), b.first.begin() + ptrdiff_t(b.count)));
  for (size_t i = 0; i < b.count; i++) b.recv[i] = c.rank == root ? float(call) + float(i % 8) : -1;
  RANK_CHECK(c, coll_bcast(b.recv.data(), b.count, COLL_FLOAT, root, comm) == COLL_OK);
  size_t wrong = 0;
  for (size_t i = 0; i < b.count; i++) wrong += b.recv[i] != float(call) + float(i % 8);
  RANK_CHECK(c, wrong == 0);
}

void tuned_calls(Context& c, size_t bytes, int calls) {
  coll_comm* comm = c.comm();
  Buffers buffers(c, bytes / sizeof(float));
  std::mt19937 random(unsigned(c.rank));
  uint64_t seen = 0;
  for (int call = 0; call < calls && !c.failed(); call++) {
    be_late(c, random);
    call_all(c, comm, buffers, call);
    seen = digest(decisions(comm), seen);
  }
  compare_digests(c, seen);
  const tune::Cell* cell = cell_of(comm, Collective::allreduce);
  RANK_CHECK(c, cell != nullptr && cell->trials() > 0);
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

class Tuned : public testing::TestWithParam<int> {
  const Environment on_{"COLL_TUNE", "on"};
};
class Tuning : public testing::Test {
  const Environment on_{"COLL_TUNE", "on"};
};
INSTANTIATE_TEST_SUITE_P(Ranks, Tuned, testing::Values(2, 8, 64), testing::PrintToStringParamName());

TEST_P(Tuned, AllRanksDecideAlikeAndRoundAlike) {
  const int ranks = GetParam();
  run_processes(
      ranks, [](Context& c) { tuned_calls(c, 16384, c.ranks > 8 ? 220 : 600); }, -1, ranks > 8 ? 240 : 60);
}

// Several requests of one cell are active concurrently and complete in any order.
void tuned_requests(Context& c, int starts) {
  coll_comm* comm = c.comm();
  constexpr size_t requests = 3;
  std::vector<Buffers> buffers(requests, Buffers(c, 4096));
  std::vector<coll_request*> all(requests);
  for (size_t i = 0; i < requests; i++)
    RANK_CHECK(c, coll_allreduce_init(buffers[i].send.data(), buffers[i].recv.data(), buffers[i].count, COLL_FLOAT,
                                      COLL_SUM, comm, &all[i]) == COLL_OK);
  std::mt19937 random(unsigned(c.rank));
  for (int start = 0; start < starts && !c.failed(); start++) {
    for (coll_request* request : all) {
      be_late(c, random);
      RANK_CHECK(c, coll_start(request) == COLL_OK);
    }
    for (size_t i = 0; i < requests; i++) {
      RANK_CHECK(c, coll_wait(&all[(i + size_t(start)) % requests]) == COLL_OK);
      if (i == 0 && start % 7 == 0) {  // a blocking call among them
        Buffers& b = buffers[0];
        std::vector<float> sum(b.count);
        RANK_CHECK(c, coll_allreduce(b.send.data(), sum.data(), b.count, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
        if (start == 0) std::copy_n(sum.begin(), b.count, b.first.begin());
      }
    }
    for (Buffers& b : buffers)
      RANK_CHECK(c, std::equal(b.recv.begin(), b.recv.begin() + ptrdiff_t(b.count), buffers[0].first.begin()));
  }
  compare_digests(c, digest(decisions(comm), 0));
  RANK_CHECK(c, decisions(comm).find("allreduce*") != std::string::npos);
  int tried = 0;
  comm->comm->tuning()->tuner().visit([&](Collective, bool, bool request, const tune::Cell& cell) {
    if (request) tried += int(cell.trials());
  });
  RANK_CHECK(c, tried > 0);
  for (coll_request* request : all) RANK_CHECK(c, coll_request_free(request) == COLL_OK);
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

TEST_P(Tuned, PersistentRequestsDecideAlike) {
  run_processes(
      GetParam(), [](Context& c) { tuned_requests(c, 150); }, -1, 120);
}

TEST_F(Tuning, IsOffIfOneRankDisablesIt) {
  for (const char* name : {"COLL_TUNE", "COLL_TRIALS"})
    run_processes(2, [name](Context& c) {
      if (name == std::string("COLL_TRIALS")) unsetenv("COLL_TUNE");
      if (c.rank == 1) setenv(name, "off", 1);
      coll_comm* comm = c.comm();
      RANK_CHECK(c, decisions(comm) == "off");
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
}

// A table of another processor, whose rows are as bad as possible here.
TEST_F(Tuning, CorrectsABadTable) {
  const std::string path = testing::TempDir() + "coll-bad-table-" + std::to_string(getpid()) + ".json";
  model::Table table = model::find_table("default", {}, {}).table;
  table.name = "other";
  for (const auto& [collective, algorithm] :
       {std::pair(Collective::bcast, "sequential_write"), std::pair(Collective::allgather, "ring_source_read")}) {
    model::Chosen row{
        .collective = collective, .up_to_bytes = 1 << 20, .algorithm = coll::algo::find(collective, algorithm)};
    row.parameters = {.chunk_bytes = 256, .depth = 1};
    table.choices.push_back(row);
  }
  std::ofstream(path) << model::write_table(table);
  Environment named("COLL_TABLE", path.c_str());
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    constexpr size_t bytes = size_t(128) << 10;
    std::vector<char> send(bytes), recv(2 * bytes);
    // If other load disturbs calls, a trial repeats them; the trials of all ranks end in the same call.
    const auto goes_on = [&](int call) {
      return call < 300 || (call < 1500 && (cell_of(comm, Collective::bcast)->trials() == 0 ||
                                            cell_of(comm, Collective::allgather)->trials() == 0));
    };
    for (int call = 0; goes_on(call); call++) {
      RANK_CHECK(c, coll_bcast(send.data(), bytes, COLL_BYTE, 0, comm) == COLL_OK);
      RANK_CHECK(c, coll_allgather(send.data(), recv.data(), bytes, COLL_BYTE, comm) == COLL_OK);
    }
    for (const Collective collective : {Collective::bcast, Collective::allgather}) {
      const tune::Cell* cell = cell_of(comm, collective);
      RANK_CHECK(c, cell->trials() > 0);
      RANK_CHECK(c, cell->now() != 0);
      RANK_CHECK(c, 1.2 * cell->candidates()[cell->now()].us < cell->usual_us());
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  unlink(path.c_str());
}

// If the user names an algorithm, no other one may serve.
TEST_F(Tuning, UsesOnlyTheAlgorithmsThatTheUserNames) {
  Environment forced("COLL_BCAST", "flat_read:chunk=4K,depth=2 | flat_read:chunk=16K,depth=4@1M");
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    std::vector<char> data(65536);
    for (int call = 0; call < 100; call++)
      RANK_CHECK(c, coll_bcast(data.data(), data.size(), COLL_BYTE, 0, comm) == COLL_OK);
    RANK_CHECK(c, cell_of(comm, Collective::bcast)->candidates().size() == 2);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

void scatters(Context& c, int calls, bool learned) {
  coll_comm* comm = c.comm();
  std::vector<char> send(2 * 16384), recv(16384);
  for (int call = 0; call < calls; call++)
    RANK_CHECK(c, coll_scatter(send.data(), recv.data(), recv.size(), COLL_BYTE, 0, comm) == COLL_OK);
  if (learned) {
    const tune::Cell* cell = cell_of(comm, Collective::scatter);
    RANK_CHECK(c, cell->trials() == 0);
    RANK_CHECK(c, tune::setting_text(cell->candidates()[cell->now()].choice) == "parallel_read:chunk=4096,depth=2");
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

TEST_F(Tuning, ResultsServeTheNextStart) {
  const std::string path = testing::TempDir() + "coll-tuned-" + std::to_string(getpid());
  Environment file("COLL_TUNE_FILE", path.c_str()), log("COLL_LOG", "info");
  run_processes(2, [](Context& c) { scatters(c, 600, false); });
  std::string text;
  ASSERT_TRUE(tune::read_learned_file(path, text).ok());
  const size_t rule = text.find("scatter[p=2, levels=");
  ASSERT_NE(rule, std::string::npos) << text;
  // A choice that no other source has.
  const size_t colon = text.find("]: ", rule) + 3;
  text.replace(colon, text.find('\n', colon) - colon, "parallel_read:chunk=4096,depth=2,copy=staged");
  std::ofstream(path) << text;
  run_processes(2, [](Context& c) { scatters(c, 20, true); });
  // A truncated file is reported and ignored.
  std::ofstream(path) << text.substr(0, text.size() - 5);
  const std::string output = stderr_of_rank_0([](Context& c) { scatters(c, 3, false); });
  EXPECT_NE(output.find(path + " is ignored"), std::string::npos) << output;
  unlink(path.c_str());
}

// Cells with calls of all kinds.
size_t cells_after_calls(Context& c, size_t bytes) {
  coll_comm* comm = c.comm();
  std::vector<char> data(bytes);
  for (int call = 0; call < 60; call++) RANK_CHECK(c, coll_bcast(data.data(), bytes, COLL_BYTE, 0, comm) == COLL_OK);
  coll_request* request = nullptr;
  RANK_CHECK(c, coll_bcast_init(data.data(), bytes, COLL_BYTE, 0, comm, &request) == COLL_OK);
  RANK_CHECK(c, coll_start(request) == COLL_OK && coll_wait(&request) == COLL_OK);
  RANK_CHECK(c, coll_request_free(request) == COLL_OK);
  size_t cells = 0;
  if (comm->comm->tuning() != nullptr)
    comm->comm->tuning()->tuner().visit([&](Collective, bool, bool, const tune::Cell&) { cells++; });
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  return cells;
}

TEST(LongCalls, AloneAreTunedByDefault) {
  for (const char* transport : {"", "shm"}) {
    Environment chosen("COLL_TRANSPORT", transport);
    run_processes(2, [transport](Context& c) {
      unsetenv("COLL_TUNE");
      if (*transport == 0) unsetenv("COLL_TRANSPORT");
      RANK_CHECK(c, cells_after_calls(c, size_t(128) << 10) == 0);
      // Requests are not tuned; and no call is tuned if CMA is the faster transport, as on some machines.
      const size_t cells = cells_after_calls(c, size_t(512) << 10);
      RANK_CHECK(c, *transport == 0 ? cells <= 1 : cells == 0);
    });
  }
}

// The ranks of a communicator use the lowest setting of all ranks.
TEST(LongCalls, OneRankMayTuneLessThanTheOthers) {
  run_processes(2, [](Context& c) {
    setenv("COLL_TUNE", c.rank == 0 ? "on" : "long", 1);
    RANK_CHECK(c, cells_after_calls(c, size_t(64) << 10) == 0);
  });
}

// Otherwise the result of a comparison of two candidates would replace that of all.
TEST(LongCalls, LearnNothingForTheFile) {
  const std::string path = testing::TempDir() + "coll-untuned-" + std::to_string(getpid());
  Environment file("COLL_TUNE_FILE", path.c_str()), log("COLL_LOG", "info"), tune("COLL_TUNE", "long");
  const std::string output = stderr_of_rank_0([](Context& c) {
    coll_comm* comm = c.comm();
    std::vector<float> send(size_t(128) << 10, 1.0f), recv(send.size());
    for (int call = 0; call < 200; call++)
      RANK_CHECK(c, coll_allreduce(send.data(), recv.data(), send.size(), COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  EXPECT_NE(output.find("COLL_TUNE_FILE is neither read nor written without COLL_TUNE=on"), std::string::npos)
      << output;
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  unlink(path.c_str());
}

// A rank with COLL_TRACE does not take the latency path; then no rank does.
TEST_F(Tuning, OneRankMayTrace) {
  const std::string path = testing::TempDir() + "coll-traced-" + std::to_string(getpid());
  for (const int tracing : {0, 1}) {
    run_processes(2, [&](Context& c) {
      if (c.rank == tracing) setenv("COLL_TRACE", path.c_str(), 1);
      coll_comm* comm = c.comm();
      std::vector<float> send(2250, float(c.rank + 1)), recv(2250);
      for (int call = 0; call < 200; call++) {
        RANK_CHECK(c, coll_allreduce(send.data(), recv.data(), send.size(), COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
        RANK_CHECK(c, recv.front() == 3 && recv.back() == 3);
      }
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
    unlink((path + '.' + std::to_string(tracing)).c_str());
  }
}

TEST_F(Tuning, FormerVariablesAreUnderstoodWithOneNote) {
  Environment former("COLL_TRIALS", "on"), log("COLL_LOG", "info");
  const std::string output = stderr_of_rank_0([](Context& c) {
    coll_comm* comm = c.comm();
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
  EXPECT_NE(output.find("COLL_TRIALS is a former variable; use COLL_TUNE"), std::string::npos) << output;
}

}  // namespace
