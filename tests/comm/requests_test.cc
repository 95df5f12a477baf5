// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking and persistent collectives between processes.
#include <tuple>

#include "comm/requests.h"
#include "resident_memory.h"

using namespace ranks;
using coll::test::resident_shared_bytes;

namespace {

class Requests : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Requests, CompleteInAnyOrderWhileOthersRun) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  uint64_t seed = coll::test::seed();
  run_processes(ranks, [&](Context& c) { many_outstanding(c, seed, 6); });
}
TEST_P(Requests, PersistentOnesStartAgain) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_processes(ranks, [](Context& c) { persistent(c, 40); });
}
TEST_P(Requests, AreSharedByThreads) {
  auto [transport, ranks] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  run_processes(ranks, [](Context& c) { waited_by_two_threads(c, 4); });
  run_processes(ranks, [](Context& c) { started_by_two_threads(c, 100); });
}
INSTANTIATE_TEST_SUITE_P(Transports, Requests,
                         testing::Combine(testing::ValuesIn(transports({"auto", "shm", "cma", "mapped"})),
                                          testing::Values(1, 2, 4, 8)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param));
                         });

TEST(Requests, BarrierCompletesOnlyWhenAllHaveCome) {
  run_processes(3, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request* request = nullptr;
    int done = 0;
    c.meet();
    if (c.rank == 2) {
      usleep(50'000);
      c.shared->moment_ns = now_ns();
    }
    RANK_CHECK(c, coll_ibarrier(comm, &request) == COLL_OK);
    while (!done) RANK_CHECK(c, coll_test(&request, &done) == COLL_OK);
    RANK_CHECK(c, request == nullptr);
    RANK_CHECK(c, c.shared->moment_ns != 0);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// A thread that waits for a late peer does not keep another one from starting.
TEST(Requests, StartWhileAnotherThreadWaits) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request *first = nullptr, *second = nullptr;
    if (c.rank == 1) {
      c.meet();  // rank 0 gets here only if it could start
      RANK_CHECK(c, coll_ibarrier(comm, &first) == COLL_OK && coll_ibarrier(comm, &second) == COLL_OK);
    } else {
      RANK_CHECK(c, coll_ibarrier(comm, &first) == COLL_OK);
      coll_status waited = COLL_ERR_STATE;
      std::thread other([&] { waited = coll_wait(&first); });
      usleep(30'000);  // until it sleeps
      RANK_CHECK(c, coll_ibarrier(comm, &second) == COLL_OK);
      c.meet();
      other.join();
      RANK_CHECK(c, waited == COLL_OK);
    }
    RANK_CHECK(c, coll_wait(&second) == COLL_OK && coll_wait(&first) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST(Requests, ActiveOnesAreNeitherStartedNorFreed) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request* again = nullptr;
    RANK_CHECK(c, coll_barrier_init(comm, &again) == COLL_OK);
    c.meet();
    if (c.rank == 0) {
      RANK_CHECK(c, coll_start(again) == COLL_OK);
      RANK_CHECK(c, coll_start(again) == COLL_ERR_STATE);
      RANK_CHECK(c, coll_request_free(again) == COLL_ERR_STATE);
    }
    c.meet();
    if (c.rank == 1) RANK_CHECK(c, coll_start(again) == COLL_OK);
    RANK_CHECK(c, coll_wait(&again) == COLL_OK);
    RANK_CHECK(c, again != nullptr);
    RANK_CHECK(c, coll_wait(&again) == COLL_OK);  // an inactive one is complete
    RANK_CHECK(c, coll_request_free(again) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// A program may have many persistent requests. One uses the staging of one channel, and of that what its pieces need:
// the slots for pieces of unknown length, 1 to 4 MiB, would be touched in two halves of four channels.
TEST(Requests, APersistentOneWithShortPiecesTouchesLittleMemory) {
  run_processes(10, [](Context& c) {
    coll_comm* comm = c.comm();
    const size_t ranks = size_t(c.ranks);
    const std::vector<size_t> counts(ranks, 1);
    std::vector<size_t> displs(ranks);
    for (size_t r = 0; r < ranks; r++) displs[r] = r;
    std::vector<int> in(ranks), out(ranks);
    coll_request* request = nullptr;
    RANK_CHECK(c, coll_alltoallv_init(in.data(), counts.data(), displs.data(), out.data(), counts.data(), displs.data(),
                                      COLL_INT, comm, &request) == COLL_OK);
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    const size_t before = resident_shared_bytes();
    for (int round = 0; round < 10 && !c.failed(); round++) {
      for (size_t r = 0; r < ranks; r++) in[r] = round * 100 + c.rank * 10 + int(r);
      RANK_CHECK(c, coll_start(request) == COLL_OK && coll_wait(&request) == COLL_OK);
      for (size_t r = 0; r < ranks; r++) RANK_CHECK(c, out[r] == round * 100 + int(r) * 10 + c.rank);
    }
    RANK_CHECK(c, resident_shared_bytes() < before + (size_t(1) << 20));
    RANK_CHECK(c, coll_request_free(request) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
