// SPDX-License-Identifier: BSD-3-Clause
// The promises of coll.h about strings, requests, communicators and memory: how long they live, and their state after
// an error and in a child after fork().
#include <set>
#include <thread>

#include "comm/collectives.h"

using namespace ranks;

namespace {

std::string error_on_new_thread(const std::function<void()>& calls) {
  std::string text = "unset";
  std::thread([&] {
    calls();
    text = coll_last_error();
  }).join();
  return text;
}

TEST(LastError, IsTheThreadsOwn) {
  EXPECT_EQ(coll_barrier(nullptr), COLL_ERR_ARG);
  EXPECT_STRNE(coll_last_error(), "");
  EXPECT_EQ(error_on_new_thread([] {}), "");
  const std::string here = coll_last_error();
  EXPECT_NE(error_on_new_thread([] { coll_op_free(COLL_SUM); }), "");
  EXPECT_EQ(coll_last_error(), here);
}

TEST(LastError, LastsUntilTheNextFailure) {
  EXPECT_EQ(coll_barrier(nullptr), COLL_ERR_ARG);
  const char* const text = coll_last_error();
  const std::string first = text;
  coll_op op = 0;
  EXPECT_EQ(coll_op_create([](const void*, void*, size_t, coll_datatype, void*) {}, 1, nullptr, &op), COLL_OK);
  EXPECT_EQ(coll_op_free(op), COLL_OK);
  EXPECT_EQ(text, first) << "a call that succeeds leaves it";
  EXPECT_EQ(coll_datatype_size(0), 0u);
  EXPECT_EQ(coll_comm_rank(nullptr), -1);
  EXPECT_EQ(coll_op_name(0), nullptr);
  EXPECT_EQ(text, first) << "functions without a status do not set it";
  EXPECT_EQ(coll_op_free(op), COLL_ERR_OP);
  EXPECT_NE(coll_last_error(), first) << "the next failure overwrites it";
  EXPECT_LT(strlen(coll_last_error()), 512u);
}

TEST(Strings, AreStatic) {
  EXPECT_EQ(coll_strerror(COLL_ERR_TYPE), coll_strerror(COLL_ERR_TYPE));
  EXPECT_EQ(coll_version(), coll_version());
  EXPECT_STREQ(coll_version(), COLL_VERSION_STRING);
  EXPECT_EQ(coll_datatype_name(COLL_INT), coll_datatype_name(COLL_INT));
  EXPECT_EQ(coll_op_name(COLL_SUM), coll_op_name(COLL_SUM));
  coll_op op = 0;
  ASSERT_EQ(coll_op_create([](const void*, void*, size_t, coll_datatype, void*) {}, 1, nullptr, &op), COLL_OK);
  const char* const name = coll_op_name(op);
  EXPECT_EQ(coll_op_free(op), COLL_OK);
  EXPECT_STREQ(name, "user");
}

TEST(Operation, IsDefinedForEveryDatatypeUntilItIsFreed) {
  coll_op op = 77;
  EXPECT_EQ(coll_op_create(nullptr, 1, nullptr, &op), COLL_ERR_ARG);
  EXPECT_EQ(op, 77u) << "unchanged on failure";
  ASSERT_EQ(coll_op_create([](const void*, void*, size_t, coll_datatype, void*) {}, 1, nullptr, &op), COLL_OK);
  for (coll_datatype type : {coll_datatype(COLL_INT8), coll_datatype(COLL_LONG_DOUBLE_INT), COLL_TYPE_BYTES(13)})
    EXPECT_TRUE(coll_op_defined(op, type));
  EXPECT_FALSE(coll_op_defined(op, 0));
  EXPECT_EQ(coll_op_free(op), COLL_OK);
  EXPECT_FALSE(coll_op_defined(op, COLL_INT));
  EXPECT_FALSE(coll_op_defined(COLL_SUM, COLL_TYPE_BYTES(4)));
}

// The callback gets the arguments of its creation, in the thread that called.
TEST(Operation, RunsInACallingThread) {
  run_processes(2, [](Context& c) {
    struct Seen {
      std::thread::id thread;
      coll_datatype type = 0;
    } seen;
    coll_comm* comm = c.comm();
    coll_op op = 0;
    const auto add = [](const void* in, void* inout, size_t count, coll_datatype type, void* context) {
      *static_cast<Seen*>(context) = {std::this_thread::get_id(), type};
      for (size_t i = 0; i < count; i++) static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
    };
    RANK_CHECK(c, coll_op_create(add, 0, &seen, &op) == COLL_OK);
    int mine = c.rank + 1, sum = 0;
    RANK_CHECK(c, coll_scan(&mine, &sum, 1, COLL_INT, op, comm) == COLL_OK);
    RANK_CHECK(c, sum == (c.rank == 0 ? 1 : 3));
    RANK_CHECK(c, c.rank == 0 || (seen.thread == std::this_thread::get_id() && seen.type == COLL_INT));
    RANK_CHECK(c, coll_op_free(op) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// Runs in a process of its own: ranks that a process with an arena forks give up that arena, which a leak checker would
// report.
TEST(Memory, IsAlignedBySize) {
  run_processes(1, [](Context& c) {
    const std::pair<size_t, size_t> all[] = {{0, 64}, {1, 64}, {4096, 4096}, {2 << 20, 2 << 20}};
    for (const auto& [bytes, alignment] : all) {
      void *memory = nullptr, *other = nullptr;
      RANK_CHECK(c, coll_mem_alloc(bytes, &memory) == COLL_OK);
      RANK_CHECK(c, coll_mem_alloc(bytes, &other) == COLL_OK);
      RANK_CHECK(c, memory != nullptr && memory != other);
      RANK_CHECK(c, uintptr_t(memory) % alignment == 0);
      RANK_CHECK(c, coll_mem_free(memory) == COLL_OK);
      RANK_CHECK(c, coll_mem_free(other) == COLL_OK);
    }
  });
}

TEST(Communicator, DescriptionAndNumbersLast) {
  run_processes(2, [](Context& c) {
    coll_comm *comm = c.comm(), *part = comm;
    const char* const text = coll_comm_describe(comm);
    const std::string before = text;
    RANK_CHECK(c, coll_comm_split(comm, c.rank == 0 ? 3 : -1, 0, &part) == COLL_OK);
    RANK_CHECK(c, (part == nullptr) == (c.rank == 1));
    RANK_CHECK(c, coll_comm_describe(comm) == text && text == before);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);  // freed before the communicator that it was split from
    RANK_CHECK(c, coll_comm_size(part) == (c.rank == 0 ? 1 : -1));
    RANK_CHECK(c, coll_comm_free(part) == COLL_OK);
  });
}

TEST(Communicator, AnEmptyCollectiveDoesNotWait) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    const size_t none[] = {0, 0};
    if (c.rank == 1) c.meet();  // rank 0 gets here only if it did not wait
    RANK_CHECK(c, coll_allreduce(nullptr, nullptr, 0, COLL_INT, COLL_SUM, comm) == COLL_OK);
    RANK_CHECK(c, coll_bcast(nullptr, 0, COLL_INT, 1, comm) == COLL_OK);
    RANK_CHECK(c, coll_allgatherv(nullptr, 0, nullptr, none, nullptr, COLL_INT, comm) == COLL_OK);
    RANK_CHECK(c, coll_reduce_scatter(nullptr, nullptr, none, COLL_INT, COLL_SUM, comm) == COLL_OK);
    if (c.rank == 0) c.meet();
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST(Communicator, ProgressIsMadeWhileARankWaits) {
  run_processes(2, [](Context& c) {
    struct Calls {
      int64_t count = 0;
      std::set<std::thread::id> threads;
    } calls;
    const auto count = [](void* context) {
      auto* all = static_cast<Calls*>(context);
      all->count++;
      all->threads.insert(std::this_thread::get_id());
    };
    coll_comm* comm = c.comm();
    const auto wait_for_rank_1 = [&] {
      if (c.rank == 1) usleep(50'000);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    };
    RANK_CHECK(c, coll_comm_set_progress(comm, count, &calls) == COLL_OK);
    wait_for_rank_1();
    RANK_CHECK(c, c.rank == 1 || (calls.count > 0 && calls.threads == std::set{std::this_thread::get_id()}));
    RANK_CHECK(c, coll_comm_set_progress(comm, nullptr, nullptr) == COLL_OK);
    const int64_t before = calls.count;
    wait_for_rank_1();
    RANK_CHECK(c, calls.count == before);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// In each state of a request, from its creation to its end, only certain calls succeed.
TEST(Requests, LifeCycle) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    int in = c.rank, sum = -1, done = 0;
    coll_request *once = nullptr, *often = nullptr;
    RANK_CHECK(c, coll_allreduce_init(&in, &sum, 1, COLL_INT, COLL_SUM, comm, &often) == COLL_OK);
    coll_request* const made = often;
    RANK_CHECK(c, coll_wait(&often) == COLL_OK && often == made);  // never started, hence complete
    RANK_CHECK(c, coll_test(&often, &done) == COLL_OK && done == 1 && often == made);
    if (c.rank == 0) {  // rank 1 starts only after rank 0 has looked at active requests
      RANK_CHECK(c, coll_start(often) == COLL_OK);
      RANK_CHECK(c, coll_ibarrier(comm, &once) == COLL_OK && once != nullptr);
      RANK_CHECK(c, coll_test(&often, &done) == COLL_OK && done == 0);
      RANK_CHECK(c, coll_start(often) == COLL_ERR_STATE);
      RANK_CHECK(c, coll_request_free(often) == COLL_ERR_STATE);
      RANK_CHECK(c, coll_request_free(once) == COLL_ERR_STATE);
      c.meet();
    } else {
      c.meet();
      RANK_CHECK(c, coll_start(often) == COLL_OK);
      RANK_CHECK(c, coll_ibarrier(comm, &once) == COLL_OK);
    }
    RANK_CHECK(c, coll_wait(&once) == COLL_OK && once == nullptr);  // waits in another order than the starts
    RANK_CHECK(c, coll_wait(&often) == COLL_OK && often == made && sum == 1);
    RANK_CHECK(c, coll_wait(&often) == COLL_OK);  // repeated waits are allowed
    in = 10;
    RANK_CHECK(c, coll_start(often) == COLL_OK && coll_wait(&often) == COLL_OK && sum == 20);
    RANK_CHECK(c, coll_request_free(often) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// A complete request does not need its communicator any more.
TEST(Requests, OutliveTheirCommunicatorOnceComplete) {
  run_processes(2, [](Context& c) {
    for (int round = 0; round < 20 && !c.failed(); round++) {
      coll_comm* comm = c.comm();
      int in = c.rank, sums[3] = {}, done = 0;
      coll_request *once = nullptr, *tested = nullptr, *often = nullptr;
      RANK_CHECK(c, coll_iallreduce(&in, &sums[0], 1, COLL_INT, COLL_SUM, comm, &once) == COLL_OK);
      RANK_CHECK(c, coll_iallreduce(&in, &sums[1], 1, COLL_INT, COLL_SUM, comm, &tested) == COLL_OK);
      RANK_CHECK(c, coll_allreduce_init(&in, &sums[2], 1, COLL_INT, COLL_SUM, comm, &often) == COLL_OK);
      RANK_CHECK(c, coll_start(often) == COLL_OK);
      // If later requests wait behind earlier ones, the earlier ones are complete when the later ones are.
      for (int later = 0; later < 8; later++) {
        coll_request* last = nullptr;
        RANK_CHECK(c, coll_ibarrier(comm, &last) == COLL_OK && coll_wait(&last) == COLL_OK);
      }
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      std::vector<char> other(100'000, 'x');  // memory of the freed communicator
      RANK_CHECK(c, coll_wait(&once) == COLL_OK && once == nullptr && sums[0] == 1);
      RANK_CHECK(c, coll_test(&tested, &done) == COLL_OK && done == 1 && tested == nullptr && sums[1] == 1);
      RANK_CHECK(c, coll_wait(&often) == COLL_OK && sums[2] == 1 && coll_request_free(often) == COLL_OK);
    }
  });
}

// Arrays of counts and displacements are read before the call returns.
TEST(Requests, DoNotKeepTheCallersArrays) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    const std::vector<size_t> right_counts{1, 2}, right_places{2, 0};
    std::vector<size_t> counts = right_counts, places = right_places;
    const size_t mine = counts[size_t(c.rank)];
    const int in[2] = {10 * c.rank + 1, 10 * c.rank + 2};
    int out[3] = {};
    coll_request *once = nullptr, *often = nullptr;
    const auto spoil = [&] { counts.assign(2, 1000), places.assign(2, 1000); };
    RANK_CHECK(c, coll_iallgatherv(in, mine, out, counts.data(), places.data(), COLL_INT, comm, &once) == COLL_OK);
    spoil();
    RANK_CHECK(c, coll_wait(&once) == COLL_OK && out[0] == 11 && out[1] == 12 && out[2] == 1);
    counts = right_counts, places = right_places;
    RANK_CHECK(c, coll_allgatherv_init(in, mine, out, counts.data(), places.data(), COLL_INT, comm, &often) == COLL_OK);
    spoil();
    std::fill_n(out, 3, 0);
    RANK_CHECK(c, coll_start(often) == COLL_OK && coll_wait(&often) == COLL_OK);
    RANK_CHECK(c, out[0] == 11 && out[1] == 12 && out[2] == 1);
    RANK_CHECK(c, coll_request_free(often) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// After a peer has left: the wait returns errors of execution, the start later ones; only free is still allowed.
TEST(Requests, AfterAPeerHasLeft) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    int in = c.rank, sum = -1, done = 0;
    if (c.rank == 1) {
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK && coll_comm_free(comm) == COLL_OK);
      return;
    }
    coll_request *once = nullptr, *often = nullptr, *late = nullptr;
    RANK_CHECK(c, coll_allreduce_init(&in, &sum, 1, COLL_INT, COLL_SUM, comm, &often) == COLL_OK);
    coll_request* const made = often;
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    RANK_CHECK(c, coll_iallreduce(&in, &sum, 1, COLL_INT, COLL_SUM, comm, &once) == COLL_OK);
    RANK_CHECK(c, coll_start(often) == COLL_OK);
    RANK_CHECK(c, coll_wait(&once) == COLL_ERR_PEER_DIED && once == nullptr);
    RANK_CHECK(c, coll_wait(&often) == COLL_ERR_PEER_DIED && often == made);
    RANK_CHECK(c, coll_test(&often, &done) == COLL_ERR_PEER_DIED && done == 1 && often == made);
    late = made;
    RANK_CHECK(c, coll_ibarrier(comm, &late) == COLL_ERR_PEER_DIED && late == nullptr);
    RANK_CHECK(c, coll_start(often) == COLL_ERR_PEER_DIED);
    RANK_CHECK(c, coll_barrier(comm) == COLL_ERR_PEER_DIED);
    RANK_CHECK(c, coll_allreduce(nullptr, &sum, 1, COLL_INT, COLL_SUM, comm) == COLL_ERR_BUFFER);  // looked at first
    RANK_CHECK(c, coll_comm_rank(comm) == 0 && coll_comm_size(comm) == 2);
    RANK_CHECK(c, coll_request_free(often) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// Waits for a child and returns whether it exited with 0.
bool succeeds(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

coll_bootstrap alone() {
  return {sizeof(coll_bootstrap), 0, 1,
          [](const void* send, void* recv, size_t bytes, void*) {
            memcpy(recv, send, bytes);
            return 0;
          },
          nullptr};
}

bool can_create() {
  const coll_bootstrap bootstrap = alone();
  coll_comm* own = nullptr;
  return coll_comm_create(&bootstrap, &own) == COLL_OK && coll_barrier(own) == COLL_OK &&
         coll_comm_free(own) == COLL_OK;
}

// Every call on objects of the parent returns a status in the child, and does not affect the parent and its peers.
TEST(Fork, InheritedObjectsFailInTheChild) {
  run_processes(2, [](Context& c) {
    coll_comm *comm = c.comm(), *out = comm;
    int in = c.rank + 1, sum = 0, done = 0;
    coll_request *once = nullptr, *tested = nullptr, *often = nullptr, *late = nullptr;
    RANK_CHECK(c, coll_allreduce_init(&in, &sum, 1, COLL_INT, COLL_SUM, comm, &often) == COLL_OK);
    if (c.rank == 0) {  // two requests that are active at the time of fork()
      RANK_CHECK(c, coll_ibarrier(comm, &once) == COLL_OK && coll_ibarrier(comm, &tested) == COLL_OK);
    }
    const pid_t child = fork();
    if (child == 0) {
      late = often;
      bool right = coll_barrier(comm) == COLL_ERR_STATE && strstr(coll_last_error(), "fork()") != nullptr;
      right &= coll_allreduce(&in, &sum, 1, COLL_INT, COLL_SUM, comm) == COLL_ERR_STATE;
      right &= coll_ibarrier(comm, &late) == COLL_ERR_STATE && late == nullptr;
      right &= coll_comm_split(comm, 0, 0, &out) == COLL_ERR_STATE && out == nullptr;
      right &= coll_start(often) == COLL_ERR_STATE && coll_request_free(often) == COLL_OK;
      right &= coll_comm_set_progress(comm, nullptr, nullptr) == COLL_OK;
      if (once != nullptr) {
        right &= coll_wait(&once) == COLL_ERR_STATE && once == nullptr;
        right &= coll_test(&tested, &done) == COLL_ERR_STATE && done == 1 && tested == nullptr;
      }
      right &= can_create();
      right &= coll_comm_size(comm) == 2 && coll_comm_free(comm) == COLL_OK;
      right &= can_create();
      _exit(right ? 0 : 1);
    }
    RANK_CHECK(c, succeeds(child));
    const pid_t other = fork();  // frees them while requests are active
    if (other == 0) _exit(coll_comm_free(comm) == COLL_OK && can_create() ? 0 : 1);
    RANK_CHECK(c, succeeds(other));
    c.meet();
    if (c.rank == 1) {
      RANK_CHECK(c, coll_ibarrier(comm, &once) == COLL_OK && coll_ibarrier(comm, &tested) == COLL_OK);
    }
    RANK_CHECK(c, coll_wait(&tested) == COLL_OK && coll_wait(&once) == COLL_OK);
    RANK_CHECK(c, coll_start(often) == COLL_OK && coll_wait(&often) == COLL_OK && sum == 3);
    RANK_CHECK(c, coll_request_free(often) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// In-place collectives keep memory of the parent's arena; the child's own arena may be at the same address.
TEST(Fork, FreeingInTheChildLeavesItsOwnMemoryAlone) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    std::vector<int> blocks(2 * 5000, c.rank);
    RANK_CHECK(c, coll_alltoall(COLL_IN_PLACE, blocks.data(), 5000, COLL_INT, comm) == COLL_OK);
    const pid_t child = fork();
    if (child == 0) {
      std::vector<char*> memory(3000);
      bool right = true;
      for (char*& one : memory) {
        right &= coll_mem_alloc(40000, reinterpret_cast<void**>(&one)) == COLL_OK;
        if (right) memset(one, 7, 40000);
      }
      right &= coll_comm_free(comm) == COLL_OK;
      for (const char* one : memory) right = right && one[0] == 7 && one[39999] == 7;
      _exit(right ? 0 : 1);
    }
    RANK_CHECK(c, succeeds(child));
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// The parent also owns what remains of a communicator until its last rank has freed it.
TEST(Fork, AfterAFreeThatAPeerHasNotMadeYet) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    if (c.rank == 1) c.meet();
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    if (c.rank == 1) return;
    const pid_t child = fork();
    if (child == 0) _exit(can_create() ? 0 : 1);
    RANK_CHECK(c, succeeds(child));
    c.meet();
    RANK_CHECK(c, can_create());
  });
}

coll_comm* freed_at_exit = nullptr;

// Exit handlers run in the child and in the ranks.
TEST(Exit, HandlersMayUseAndFree) {
  run_processes(2, [](Context& c) {
    freed_at_exit = c.comm();
    static pid_t rank_process;
    rank_process = getpid();
    std::atexit([] {
      const coll_status expected = getpid() == rank_process ? COLL_OK : COLL_ERR_STATE;
      if (coll_barrier(freed_at_exit) != expected || coll_comm_free(freed_at_exit) != COLL_OK) _exit(3);
    });
    const pid_t child = fork();
    if (child == 0) exit(0);
    RANK_CHECK(c, succeeds(child));
  });
}

// A child may read its copies, free the operation and create objects of its own; the parent's objects do not change.
TEST(Fork, LeavesTheParentsObjectsToTheParent) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    void* memory = nullptr;
    coll_op op = 0;
    RANK_CHECK(c, coll_mem_alloc(100, &memory) == COLL_OK);
    RANK_CHECK(c, coll_op_create([](const void*, void*, size_t, coll_datatype, void*) {}, 1, nullptr, &op) == COLL_OK);
    strcpy(static_cast<char*>(memory), "the parent's");
    const pid_t child = fork();
    if (child == 0) {
      const bool looks = coll_comm_rank(comm) == c.rank && coll_comm_size(comm) == 2 && *coll_comm_describe(comm) != 0;
      const bool copied = strcmp(static_cast<char*>(memory), "the parent's") == 0;
      static_cast<char*>(memory)[0] = 'T';
      const bool kept = coll_mem_free(memory) == COLL_ERR_ARG;
      coll_bootstrap alone{sizeof alone, 0, 1,
                           [](const void* send, void* recv, size_t bytes, void*) {
                             memcpy(recv, send, bytes);
                             return 0;
                           },
                           nullptr};
      coll_comm* own = nullptr;
      void* more = nullptr;
      const bool anew = coll_comm_create(&alone, &own) == COLL_OK && coll_barrier(own) == COLL_OK &&
                        coll_comm_free(own) == COLL_OK && coll_mem_alloc(100, &more) == COLL_OK &&
                        coll_mem_free(more) == COLL_OK && coll_op_free(op) == COLL_OK;
      _exit(looks && copied && kept && anew ? 0 : (looks ? 0 : 1) + (copied ? 0 : 2) + (kept ? 0 : 4) + (anew ? 0 : 8));
    }
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    int status = -1;
    RANK_CHECK(c, waitpid(child, &status, 0) == child && status == 0);
    RANK_CHECK(c, strcmp(static_cast<char*>(memory), "the parent's") == 0);
    RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
    RANK_CHECK(c, coll_op_free(op) == COLL_OK && coll_mem_free(memory) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

}  // namespace
