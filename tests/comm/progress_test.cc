// SPDX-License-Identifier: BSD-3-Clause
// coll_progress() advances the requests of all communicators without a wait, and threads that call it do not disturb
// others.
#include "comm/requests.h"

using namespace ranks;

namespace {

// Several communicators of the same ranks, with several requests on each.
struct Group {
  static constexpr size_t comms = 3, each = 5;
  coll_comm* comm[comms] = {};
  std::vector<Operation> operations = std::vector<Operation>(comms * each);

  explicit Group(Context& c) {
    comm[0] = c.comm();
    for (size_t i = 1; i < comms; i++) RANK_CHECK(c, coll_comm_split(comm[0], 0, c.rank, &comm[i]) == COLL_OK);
  }
  void start(Context& c, uint32_t round) {
    for (size_t i = 0; i < operations.size(); i++) {
      const auto kind = Operation::Kind(i % Operation::kinds);
      operations[i] = {kind, i % 2 == 0 ? size_t(3) : size_t(60'000), int(i) % c.ranks, false, round, {}, {}};
      operations[i].fill(c);
      RANK_CHECK(c, operations[i].start(c, comm[i % comms]) == COLL_OK);
    }
  }
  void free(Context& c) {
    for (coll_comm* one : comm) RANK_CHECK(c, coll_comm_free(one) == COLL_OK);
  }
};

// Frees each request once it is complete; only coll_progress() advances it.
void complete_by_progress(Context& c, Group& group) {
  for (Operation& o : group.operations) {
    while (coll_request_free(o.request) == COLL_ERR_STATE && !c.failed()) RANK_CHECK(c, coll_progress() == COLL_OK);
    RANK_CHECK(c, o.right(c));
  }
}

TEST(Progress, WithoutACommunicator) { EXPECT_EQ(coll_progress(), COLL_OK); }

class Progress : public testing::TestWithParam<int> {};

TEST_P(Progress, AdvancesAllCommunicators) {
  run_processes(GetParam(), [](Context& c) {
    Group group(c);
    for (uint32_t round = 0; round < 3 && !c.failed(); round++) {
      group.start(c, round);
      complete_by_progress(c, group);
    }
    group.free(c);
  });
}
TEST_P(Progress, AdvancesThoseThatWereFreed) {
  run_processes(GetParam(), [](Context& c) {
    Group group(c);
    group.start(c, 1);
    group.free(c);
    complete_by_progress(c, group);
    RANK_CHECK(c, coll_progress() == COLL_OK);
  });
}
INSTANTIATE_TEST_SUITE_P(All, Progress, testing::Values(2, 4, 16), testing::PrintToStringParamName());

// Threads that only call it run concurrently with blocking collectives, starts and waits on the same communicators.
void beside_other_threads(Context& c) {
  Group group(c);
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++)
    threads.emplace_back([&] {
      while (!over) {
        if (coll_progress() != COLL_OK) return;
        std::this_thread::yield();
      }
    });
  for (uint32_t round = 0; round < 6 && !c.failed(); round++) {
    group.start(c, round);
    for (coll_comm* comm : group.comm) {
      uint32_t one = 1, sum = 0;
      RANK_CHECK(c, coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
      RANK_CHECK(c, sum == uint32_t(c.ranks));
    }
    for (Operation& o : group.operations) {
      RANK_CHECK(c, coll_wait(&o.request) == COLL_OK);
      RANK_CHECK(c, o.right(c));
    }
    for (coll_comm* comm : group.comm)
      for (int turn = 0; turn < 20; turn++) RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
  }
  group.start(c, 10);
  group.free(c);  // the end of the last round detached them
  for (Operation& o : group.operations) {
    RANK_CHECK(c, coll_wait(&o.request) == COLL_OK);
    RANK_CHECK(c, o.right(c));
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
}
TEST(Progress, BesideOtherThreadsOfProcesses) { run_processes(2, beside_other_threads); }
TEST(Progress, BesideOtherThreadsOfThreads) { run_threads(2, beside_other_threads); }

// The purpose of coll_comm_set_progress(). Rank 1 enters the barrier only after rank 0 has advanced the other
// communicator.
TEST(Progress, FromACallbackOfAWait) {
  run_processes(2, [](Context& c) {
    coll_comm *waits = c.comm(), *other = nullptr;
    RANK_CHECK(c, coll_comm_split(waits, 0, c.rank, &other) == COLL_OK);
    // Longer than the staging, so that both ranks take many steps.
    std::vector<uint32_t> data(8'000'000, uint32_t(c.rank) + 1);
    coll_request *request = nullptr, *late = nullptr;
    const auto progress = [](void*) { coll_progress(); };
    for (bool has_request : {false, true}) {
      RANK_CHECK(c, coll_comm_set_progress(waits, progress, nullptr) == COLL_OK);
      RANK_CHECK(c, coll_iallreduce(COLL_IN_PLACE, data.data(), data.size(), COLL_UINT32, COLL_SUM, other, &request) ==
                        COLL_OK);
      // The request of the waiting communicator, which coll_progress() skips.
      if (has_request) RANK_CHECK(c, coll_ibarrier(waits, &late) == COLL_OK);
      if (c.rank == 1) RANK_CHECK(c, coll_wait(&request) == COLL_OK);
      RANK_CHECK(c, coll_barrier(waits) == COLL_OK);
      RANK_CHECK(c, coll_wait(&request) == COLL_OK && coll_wait(&late) == COLL_OK);
      RANK_CHECK(c, data.front() == (has_request ? 6u : 3u) && data.back() == data.front());
      RANK_CHECK(c, coll_comm_set_progress(waits, nullptr, nullptr) == COLL_OK);
    }
    RANK_CHECK(c, coll_comm_free(waits) == COLL_OK && coll_comm_free(other) == COLL_OK);
  });
}

// The child has copies of active requests, which belong to the parent.
TEST(Progress, InAChildAfterFork) {
  run_processes(2, [](Context& c) {
    Group group(c);
    group.start(c, 1);
    const pid_t child = fork();
    if (child == 0) _exit(coll_progress() == COLL_OK ? 0 : 1);
    int status = -1;
    RANK_CHECK(c, waitpid(child, &status, 0) == child && status == 0);
    complete_by_progress(c, group);
    group.free(c);
  });
}

}  // namespace
