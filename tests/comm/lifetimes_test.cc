// SPDX-License-Identifier: BSD-3-Clause
// A communicator that is freed while requests are active lives until the last of them has ended.
#include <fstream>

#include "comm/requests.h"

using namespace ranks;

namespace {

// Counts the segments of communicators that this process has mapped.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) found += line.find("libcoll segment") != std::string::npos;
  return found;
}

// Starts requests of every kind and length, one of them persistent. Then each rank frees the handle at a different
// time.
void free_then_wait(Context& c, bool tests) {
  coll_comm* comm = c.comm();
  if (comm == nullptr) return;
  std::vector<Operation> operations;
  uint32_t round = 1;
  for (size_t n : {size_t(1), size_t(3000), size_t(70'000)})
    for (auto kind : {Operation::barrier, Operation::bcast, Operation::reduce, Operation::allreduce})
      operations.push_back({kind, n, int(n) % c.ranks, false, round++, {}, {}});
  for (size_t i = 0; i < operations.size(); i++) {
    Operation& o = operations[i];
    o.fill(c);
    if (i % 5 == 3) {
      RANK_CHECK(c, o.prepare(c, comm) == COLL_OK);
      RANK_CHECK(c, coll_start(o.request) == COLL_OK);
    } else {
      RANK_CHECK(c, o.start(c, comm) == COLL_OK);
    }
    if (i == size_t(c.rank)) usleep(2000);
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  std::vector<char> other(100'000, 'x');  // memory of the freed handle
  for (size_t i = operations.size(); i-- > 0;) {
    Operation& o = operations[i];
    int done = 0;
    if (tests)
      while (done == 0 && !c.failed()) RANK_CHECK(c, coll_test(&o.request, &done) == COLL_OK);
    else RANK_CHECK(c, coll_wait(&o.request) == COLL_OK);
    RANK_CHECK(c, o.right(c));
    RANK_CHECK(c, (o.request != nullptr) == (i % 5 == 3));
    RANK_CHECK(c, coll_request_free(o.request) == COLL_OK);
  }
}

class Detached : public testing::TestWithParam<int> {};

TEST_P(Detached, RequestsCompleteAfterTheFree) {
  for (bool tests : {false, true}) {
    if (tests && GetParam() > 8) continue;
    run_processes(GetParam(), [=](Context& c) {
      free_then_wait(c, tests);
      RANK_CHECK(c, mappings() == 0);
    });
  }
}
INSTANTIATE_TEST_SUITE_P(All, Detached, testing::Values(1, 2, 4, 64), testing::PrintToStringParamName());

TEST(DetachedThreads, RequestsCompleteAfterTheFree) {
  run_threads(4, [](Context& c) { free_then_wait(c, c.rank % 2 == 0); });
}

// The last active request releases the memory, neither earlier nor later.
TEST(Detached, MemoryIsReleasedWithTheLastRequest) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request *first = nullptr, *second = nullptr, *idle = nullptr;
    int one = 1, sum = 0;
    RANK_CHECK(c, mappings() > 0);
    RANK_CHECK(c, coll_ibarrier(comm, &first) == COLL_OK);
    RANK_CHECK(c, coll_iallreduce(&one, &sum, 1, COLL_INT, COLL_SUM, comm, &second) == COLL_OK);
    RANK_CHECK(c, coll_barrier_init(comm, &idle) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    RANK_CHECK(c, coll_wait(&second) == COLL_OK && sum == 2);
    RANK_CHECK(c, mappings() > 0);
    RANK_CHECK(c, coll_wait(&first) == COLL_OK);
    RANK_CHECK(c, mappings() == 0);
    RANK_CHECK(c, coll_wait(&idle) == COLL_OK);  // inactive, hence complete
    RANK_CHECK(c, coll_request_free(idle) == COLL_OK);
  });
}

// No collective starts on a freed communicator, whether it still exists or not.
TEST(Detached, NothingStartsAfterTheFree) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request *active = nullptr, *often = nullptr, *idle = nullptr;
    int one = 1, sum = 0;
    RANK_CHECK(c, coll_barrier_init(comm, &idle) == COLL_OK);
    RANK_CHECK(c, coll_allreduce_init(&one, &sum, 1, COLL_INT, COLL_SUM, comm, &often) == COLL_OK);
    RANK_CHECK(c, coll_start(often) == COLL_OK && coll_ibarrier(comm, &active) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    RANK_CHECK(c, coll_start(idle) == COLL_ERR_STATE);
    RANK_CHECK(c, strstr(coll_last_error(), "has been freed") != nullptr);
    RANK_CHECK(c, coll_wait(&often) == COLL_OK && sum == 2);
    RANK_CHECK(c, coll_start(often) == COLL_ERR_STATE);
    RANK_CHECK(c, coll_wait(&active) == COLL_OK);
    RANK_CHECK(c, coll_start(often) == COLL_ERR_STATE && coll_start(idle) == COLL_ERR_STATE);
    RANK_CHECK(c, coll_wait(&often) == COLL_OK);
    RANK_CHECK(c, coll_request_free(often) == COLL_OK && coll_request_free(idle) == COLL_OK);
  });
}

// The request is complete, but the rank has not noticed: the status outlives the communicator, and the request can be
// freed without a wait.
TEST(Detached, CompleteRequestsNeedNoWait) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request *waited = nullptr, *freed = nullptr, *last = nullptr;
    int one = 1, sums[2] = {};
    RANK_CHECK(c, coll_iallreduce(&one, &sums[0], 1, COLL_INT, COLL_SUM, comm, &waited) == COLL_OK);
    RANK_CHECK(c, coll_iallreduce(&one, &sums[1], 1, COLL_INT, COLL_SUM, comm, &freed) == COLL_OK);
    for (int later = 0; later < 8; later++)
      RANK_CHECK(c, coll_ibarrier(comm, &last) == COLL_OK && coll_wait(&last) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    RANK_CHECK(c, coll_request_free(freed) == COLL_OK && sums[1] == 2);
    RANK_CHECK(c, coll_wait(&waited) == COLL_OK && sums[0] == 2);
    RANK_CHECK(c, mappings() == 0);
  });
}

// Once its last request is complete, peers notice that the rank has left.
TEST(Detached, PeersLearnThatItHasLeft) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request *first = nullptr, *second = nullptr;
    RANK_CHECK(c, coll_ibarrier(comm, &first) == COLL_OK && coll_ibarrier(comm, &second) == COLL_OK);
    if (c.rank == 1) {
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      RANK_CHECK(c, coll_wait(&first) == COLL_OK);
      RANK_CHECK(c, coll_wait(&second) == COLL_OK);
      return c.meet();
    }
    RANK_CHECK(c, coll_wait(&second) == COLL_OK && coll_wait(&first) == COLL_OK);
    RANK_CHECK(c, coll_barrier(comm) == COLL_ERR_PEER_DIED);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    c.meet();
  });
}

// A peer that is killed ends the requests of a freed communicator, too.
TEST(Detached, RequestsFailWhenAPeerDies) {
  run_processes(
      3,
      [](Context& c) {
        coll_comm* comm = c.comm();
        coll_request* requests[2] = {};
        c.meet();
        if (c.rank == 2) raise(SIGKILL);
        for (coll_request*& request : requests) RANK_CHECK(c, coll_ibarrier(comm, &request) == COLL_OK);
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
        for (coll_request*& request : requests) RANK_CHECK(c, coll_wait(&request) == COLL_ERR_PEER_DIED);
        RANK_CHECK(c, strstr(coll_last_error(), "exited") != nullptr);
        RANK_CHECK(c, mappings() == 0);
      },
      2);
}

// A child has copies of both; freeing them does not affect the parent.
TEST(Detached, EndsInAChildAfterFork) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request* request = nullptr;
    if (c.rank == 0) RANK_CHECK(c, coll_ibarrier(comm, &request) == COLL_OK);
    if (c.rank == 0) RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    const pid_t child = fork();
    if (child == 0) _exit(request == nullptr || (coll_wait(&request) == COLL_ERR_STATE && request == nullptr) ? 0 : 1);
    int status = -1;
    RANK_CHECK(c, waitpid(child, &status, 0) == child && status == 0);
    c.meet();
    if (c.rank == 1) RANK_CHECK(c, coll_ibarrier(comm, &request) == COLL_OK);
    RANK_CHECK(c, coll_wait(&request) == COLL_OK);
    if (c.rank == 1) RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
