// SPDX-License-Identifier: BSD-3-Clause
// Allocations that fail while requests start and advance: the call returns a status, and the communicator and the order
// of its operations do not change.
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "address_space.h"
#include "comm/collectives.h"

using namespace ranks;

namespace {

// In this thread, that many more allocations succeed, then one fails. Negative: all succeed.
thread_local int allocations_left = -1;
thread_local bool has_failed = false;

class FailingAfter {
 public:
  explicit FailingAfter(int allocations) { allocations_left = allocations, has_failed = false; }
  ~FailingAfter() { allocations_left = -1; }
};

void* allocate(size_t bytes) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  if (void* memory = malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }

namespace {

// Rank 1 has memory for its own data, but no address space for the segment.
TEST(NoMemory, WhileACommunicatorIsCreated) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer reserves terabytes of address space";
#endif
  run_processes(2, [](Context& c) {
    const size_t bytes = coll::test::address_space() + (size_t(32) << 20);
    const rlimit limit{bytes, RLIM_INFINITY};
    if (c.rank == 1) RANK_CHECK(c, setrlimit(RLIMIT_AS, &limit) == 0);
    const coll_bootstrap bootstrap = c.bootstrap();
    coll_comm* comm = nullptr;
    RANK_CHECK(c, coll_comm_create(&bootstrap, &comm) == COLL_ERR_NO_MEMORY);
    RANK_CHECK(c, c.rank == 0 || strstr(coll_last_error(), "ulimit -v") != nullptr);
  });
}

// A failed start has started nothing: when it is repeated, it matches the starts of the peers, and the sums are right.
TEST(NoMemory, WhileARequestStarts) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    int failures = 0;
    bool failed_before = true;
    for (int n = 0; n < 400 && !c.failed(); n++) {
      // A new length needs a new plan.
      std::vector<int> in(size_t(5'000 + n), c.rank + n), sum(in.size());
      coll_request* request = nullptr;
      coll_status status = COLL_ERR_NO_MEMORY;
      if (c.rank == 1 && failed_before) {
        FailingAfter failing(n);
        status = coll_iallreduce(in.data(), sum.data(), in.size(), COLL_INT, COLL_SUM, comm, &request);
        failed_before = has_failed;
        failures += has_failed;
      }
      RANK_CHECK(c, (status == COLL_OK) == (request != nullptr) && (status == COLL_OK || status == COLL_ERR_NO_MEMORY));
      if (request == nullptr)
        RANK_CHECK(c, coll_iallreduce(in.data(), sum.data(), in.size(), COLL_INT, COLL_SUM, comm, &request) == COLL_OK);
      RANK_CHECK(c, coll_wait(&request) == COLL_OK);
      for (const int one : sum)
        if (one != 2 * n + 1) return c.fail("wrong after failing allocation " + std::to_string(n));
    }
    RANK_CHECK(c, c.rank == 0 || (failures >= 5 && !failed_before));
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// Neither does a failed start of a scaled sum in place multiply the input.
TEST(NoMemory, WhileAScaledSumStarts) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    const int factor = 3;
    coll_op op = 0;
    RANK_CHECK(c, coll_op_create_scaled_sum(&factor, COLL_INT, &op) == COLL_OK);
    int failures = 0;
    bool failed_before = true;
    for (int n = 0; n < 400 && !c.failed(); n++) {
      std::vector<int> sum(size_t(5'000 + n), c.rank + n);
      coll_request* request = nullptr;
      coll_status status = COLL_ERR_NO_MEMORY;
      const auto start = [&] {
        return coll_iallreduce(COLL_IN_PLACE, sum.data(), sum.size(), COLL_INT, op, comm, &request);
      };
      if (c.rank == 1 && failed_before) {
        FailingAfter failing(n);
        status = start();
        failed_before = has_failed;
        failures += has_failed;
      }
      RANK_CHECK(c, (status == COLL_OK) == (request != nullptr) && (status == COLL_OK || status == COLL_ERR_NO_MEMORY));
      if (request == nullptr) RANK_CHECK(c, start() == COLL_OK);
      RANK_CHECK(c, coll_wait(&request) == COLL_OK);
      for (const int one : sum)
        if (one != 3 * (2 * n + 1)) return c.fail("wrong after failing allocation " + std::to_string(n));
    }
    RANK_CHECK(c, c.rank == 0 || (failures >= 5 && !failed_before));
    RANK_CHECK(c, coll_op_free(op) == COLL_OK && coll_comm_free(comm) == COLL_OK);
  });
}

// More requests than can run at once: later ones begin inside a call that completes an earlier one.
TEST(NoMemory, WhileQueuedRequestsBegin) {
  run_processes(2, [](Context& c) {
    constexpr int requests = 12;
    coll_comm* comm = c.comm();
    std::vector<std::vector<int>> in, sum;
    coll_request* request[requests];
    for (int r = 0; r < requests; r++) {
      in.emplace_back(40'000, c.rank + r);
      sum.emplace_back(40'000, -1);
    }
    if (c.rank == 0) c.meet();  // rank 1 has queued all of them
    for (int r = 0; r < requests; r++)
      RANK_CHECK(c, coll_iallreduce(in[size_t(r)].data(), sum[size_t(r)].data(), 40'000, COLL_INT, COLL_SUM, comm,
                                    &request[r]) == COLL_OK);
    if (c.rank == 1) c.meet();
    for (int r = 0; r < requests && !c.failed(); r++) {
      for (int done = 0; done == 0 && !c.failed();) {
        coll_status status;
        if (c.rank == 1) {
          FailingAfter failing(0);
          status = coll_test(&request[r], &done);
        } else {
          status = coll_test(&request[r], &done);
        }
        RANK_CHECK(c, status == COLL_OK && (done == 1) == (request[r] == nullptr));
      }
      for (const int one : sum[size_t(r)])
        if (one != 2 * r + 1) return c.fail("request " + std::to_string(r) + " is wrong or not complete");
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// An allocation fails in the middle of a blocking collective: the rank gets a status, its peers another one, and no
// rank hangs.
TEST(NoMemory, InTheMiddleOfACollective) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    // A reduction of elements of this size allocates memory for partial results.
    constexpr size_t element = 20'000, count = 60;
    std::vector<char> in(element * count, char(c.rank)), out(in.size());
    coll_op op = 0;
    const auto add = [](const void* from, void* to, size_t n, coll_datatype, void*) {
      for (size_t i = 0; i < n * element; i++) static_cast<char*>(to)[i] += static_cast<const char*>(from)[i];
    };
    RANK_CHECK(c, coll_op_create(add, 1, nullptr, &op) == COLL_OK);
    const auto run = [&] { return coll_allreduce(in.data(), out.data(), count, COLL_TYPE_BYTES(element), op, comm); };
    RANK_CHECK(c, run() == COLL_OK && out[0] == 1 && out.back() == 1);
    if (c.rank == 0) {
      FailingAfter failing(0);
      const coll_status status = run();
      RANK_CHECK(c, has_failed && status == COLL_ERR_NO_MEMORY);
    } else {
      RANK_CHECK(c, run() == COLL_ERR_PEER_DIED);
    }
    RANK_CHECK(c, run() == (c.rank == 0 ? COLL_ERR_NO_MEMORY : COLL_ERR_PEER_DIED));
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK && coll_op_free(op) == COLL_OK);
  });
}

}  // namespace
