// SPDX-License-Identifier: BSD-3-Clause
// coll_comm_abort() ends every kind of wait on every rank within a second, with one status and a text with the reason.
#include <tuple>

#include "comm/requests.h"

using namespace ranks;

namespace {

constexpr coll_status reason = COLL_ERR_TOPOLOGY;  // any

void abort_now(Context& c, coll_comm* comm) {
  c.shared->moment_ns = now_ns();
  RANK_CHECK(c, coll_comm_abort(comm, reason) == COLL_OK);
}

void ends_in_time(Context& c, coll_status status, int by_rank) {
  const int64_t noticed = now_ns();
  const std::string text = coll_last_error();
  RANK_CHECK(c, status == COLL_ERR_ABORTED);
  RANK_CHECK(c, text.find("rank " + std::to_string(by_rank) + " aborted") != std::string::npos);
  RANK_CHECK(c, text.find(coll_strerror(reason)) != std::string::npos && text.find("must be freed") != text.npos);
  const int64_t moment = c.shared->moment_ns;
  RANK_CHECK(c, moment != 0);
  if (noticed - moment > int64_t(1'000'000'000) * slowness)
    c.fail("took " + std::to_string((noticed - moment) / 1'000'000) + " ms");
}

// Waits in one way for a rank that makes no call. Returns the status with which the wait ends.
struct Waiting {
  const char* name;
  std::function<coll_status(Context&, coll_comm*)> wait;
};

std::vector<uint32_t>& data() {
  static thread_local std::vector<uint32_t> all;
  return all;
}
coll_status reduces(coll_comm* comm, size_t n) {
  data().assign(n, 1);
  return coll_allreduce(COLL_IN_PLACE, data().data(), n, COLL_UINT32, COLL_SUM, comm);
}
// From rank 0, whose staging ring is full after some of them.
coll_status broadcasts(coll_comm* comm, size_t n) {
  data().assign(n, 1);
  coll_status status = COLL_OK;
  while (status == COLL_OK) status = coll_bcast(data().data(), n, COLL_UINT32, 0, comm);
  return status;
}
// More requests than channels, so that some are queued. A start after the abort may fail.
std::vector<coll_request*> start_several(Context& c, coll_comm* comm) {
  std::vector<coll_request*> all(7);
  for (coll_request*& one : all) {
    const coll_status status = coll_ibarrier(comm, &one);
    RANK_CHECK(c, status == (one != nullptr ? COLL_OK : COLL_ERR_ABORTED));
  }
  return all;
}
// All of them must end.
coll_status waits(Context& c, coll_comm* comm) {
  for (coll_request*& one : start_several(c, comm)) {
    RANK_CHECK(c, one == nullptr || coll_wait(&one) == COLL_ERR_ABORTED);
    RANK_CHECK(c, one == nullptr);
  }
  return COLL_ERR_ABORTED;
}
coll_status tests(Context& c, coll_comm* comm) {
  for (coll_request*& one : start_several(c, comm)) {
    coll_status status = COLL_ERR_ABORTED;
    for (int done = one == nullptr; done == 0;) status = coll_test(&one, &done);
    RANK_CHECK(c, one == nullptr && status == COLL_ERR_ABORTED);
  }
  return COLL_ERR_ABORTED;
}
// The first test after the abort reports it.
coll_status tests_seldom(Context&, coll_comm* comm) {
  coll_request* request = nullptr;
  coll_status status = coll_ibarrier(comm, &request);
  for (int done = 0; request != nullptr && done == 0; usleep(done == 0 ? 250'000 : 0))
    status = coll_test(&request, &done);
  return status;
}
coll_status splits(Context& c, coll_comm* comm) {
  coll_comm* part = nullptr;
  const coll_status status = coll_comm_split(comm, 0, 0, &part);
  RANK_CHECK(c, part == nullptr);
  return status;
}

const Waiting states[] = {
    {"barrier", [](Context&, coll_comm* comm) { return coll_barrier(comm); }},
    {"short reduction", [](Context&, coll_comm* comm) { return reduces(comm, 2); }},
    {"long reduction", [](Context&, coll_comm* comm) { return reduces(comm, 300'000); }},
    {"short broadcasts", [](Context&, coll_comm* comm) { return broadcasts(comm, 2); }},
    {"long broadcasts", [](Context&, coll_comm* comm) { return broadcasts(comm, 100'000); }},
    {"wait", waits},
    {"test", tests},
    {"seldom test", tests_seldom},
    {"split", splits},
};

class Abort : public testing::TestWithParam<std::tuple<const char*, int, int>> {};

// The last rank aborts, at once or while the others sleep.
TEST_P(Abort, EndsEveryWait) {
  auto [transport, ranks, after_us] = GetParam();
  Environment forced("COLL_TRANSPORT", transport);
  for (const Waiting& state : states) {
    SCOPED_TRACE(state.name);
    run_processes(
        ranks,
        [&, ranks = ranks, after_us = after_us](Context& c) {
          c.about = state.name;
          coll_comm* comm = c.comm();
          RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
          c.meet();
          if (c.rank == ranks - 1) {
            usleep(useconds_t(after_us));
            abort_now(c, comm);
            ends_in_time(c, coll_barrier(comm), ranks - 1);
          } else {
            ends_in_time(c, state.wait(c, comm), ranks - 1);
          }
          ends_in_time(c, coll_barrier(comm), ranks - 1);
          coll_request* late = nullptr;
          RANK_CHECK(c, coll_ibarrier(comm, &late) == COLL_ERR_ABORTED && late == nullptr);
          RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
        },
        -1, 20);
  }
}
INSTANTIATE_TEST_SUITE_P(All, Abort,
                         testing::Combine(testing::ValuesIn(transports({"shm", "cma"})), testing::Values(2, 4),
                                          testing::Values(0, 60'000)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + std::to_string(std::get<1>(info.param)) +
                                  (std::get<2>(info.param) == 0 ? "at_once" : "asleep");
                         });

// Another thread of a waiting rank aborts. One peer comes late: a collective that all others have called before the
// abort may succeed there, but the next one may not.
void abort_by_another_thread(Context& c, const Waiting& state) {
  c.about = state.name;
  coll_comm* comm = c.comm();
  const int late = c.ranks - 1;
  RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
  c.meet();
  std::thread other;
  if (c.rank == 0)
    other = std::thread([&] {
      usleep(60'000);
      abort_now(c, comm);
    });
  if (c.rank == late) usleep(150'000);
  coll_status status = state.wait(c, comm);
  if (c.rank == late && status == COLL_OK) status = state.wait(c, comm);
  ends_in_time(c, status, 0);
  if (c.rank == 0) other.join();
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  c.meet();  // ranks that are threads use buffers of this rank until their calls have returned
}
TEST(Aborted, ByAnotherThread) {
  for (const Waiting& state : states) {
    SCOPED_TRACE(state.name);
    run_processes(3, [&](Context& c) { abort_by_another_thread(c, state); });
  }
}
TEST(Aborted, RanksThatAreThreads) {
  for (const Waiting& state : states) {
    SCOPED_TRACE(state.name);
    run_threads(3, [&](Context& c) { abort_by_another_thread(c, state); });
  }
}

// All ranks get the same status, whether they notice the abort of the rank itself or the failure of another rank.
TEST(Aborted, EndsEachOf64Ranks) {
  for (const Waiting& state : {states[0], states[2], states[5]}) {
    SCOPED_TRACE(state.name);
    run_processes(64, [&](Context& c) {
      c.about = state.name;
      coll_comm* comm = c.comm();
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      c.meet();
      if (c.rank == 40) {
        usleep(100'000);
        abort_now(c, comm);
      } else {
        ends_in_time(c, state.wait(c, comm), 40);
      }
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
  }
}

// The aborting rank has exited before its peers look.
TEST(Aborted, ByARankThatExits) {
  run_processes(4, [](Context& c) {
    coll_comm* comm = c.comm();
    c.meet();
    if (c.rank == 1) {
      abort_now(c, comm);
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      return;
    }
    if (c.rank == 3) usleep(50'000);
    ends_in_time(c, coll_barrier(comm), 1);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// A rank that has freed its handle still waits for its requests.
TEST(Aborted, EndsRequestsOfAFreedCommunicator) {
  run_processes(3, [](Context& c) {
    coll_comm* comm = c.comm();
    coll_request* request = nullptr;
    if (c.rank != 2) RANK_CHECK(c, coll_ibarrier(comm, &request) == COLL_OK);
    if (c.rank == 0) RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    c.meet();
    if (c.rank == 2) {
      usleep(30'000);
      abort_now(c, comm);
    } else {
      ends_in_time(c, coll_wait(&request), 2);
    }
    if (c.rank != 0) RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST(Aborted, LeavesOtherCommunicatorsAlone) {
  run_processes(2, [](Context& c) {
    coll_comm *world = c.comm(), *part = nullptr;
    RANK_CHECK(c, coll_comm_split(world, 0, 0, &part) == COLL_OK);
    if (c.rank == 0) abort_now(c, part);
    RANK_CHECK(c, coll_barrier(world) == COLL_OK);
    RANK_CHECK(c, coll_barrier(part) == COLL_ERR_ABORTED);
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK);
    RANK_CHECK(c, coll_comm_split(world, 0, 0, &part) == COLL_OK);
    RANK_CHECK(c, coll_barrier(part) == COLL_OK && coll_barrier(world) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK && coll_comm_free(world) == COLL_OK);
  });
}

TEST(Aborted, OfTheParentsCommunicatorFails) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    const pid_t child = fork();
    if (child == 0) _exit(coll_comm_abort(comm, reason) == COLL_ERR_STATE ? 0 : 1);
    int status = -1;
    RANK_CHECK(c, waitpid(child, &status, 0) == child && status == 0);
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST(Aborted, NeedsACommunicatorAndAnError) {
  run_processes(1, [](Context& c) {
    coll_comm* comm = c.comm();
    RANK_CHECK(c, coll_comm_abort(nullptr, reason) == COLL_ERR_ARG && strstr(coll_last_error(), "NULL") != nullptr);
    RANK_CHECK(c, coll_comm_abort(comm, COLL_OK) == COLL_ERR_ARG && strstr(coll_last_error(), "error") != nullptr);
    RANK_CHECK(c, coll_comm_abort(comm, coll_status(1234)) == COLL_ERR_ARG);
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    RANK_CHECK(c, coll_comm_abort(comm, COLL_ERR_ABORTED) == COLL_OK);
    RANK_CHECK(c, coll_barrier(comm) == COLL_ERR_ABORTED);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
