// SPDX-License-Identifier: BSD-3-Clause
// If the kernel refuses copies, their owner makes them: starting, testing and advancing a request does not wait for
// that.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../seed.h"
#include "comm/collectives.h"
#include "comm/unpinnable.h"

using namespace ranks;

namespace {

constexpr size_t count = 60'000, bytes = (count * 4 + 4095) / 4096 * 4096;

// Rank 0 starts, tests and advances a request that needs a copy by rank 1, which makes no call before rank 0 has
// finished. Then a blocking collective needs such a copy, too, while the request waits for its own.
using Start = std::function<coll_status(Context&, const uint32_t* in, uint32_t* out, coll_comm*, coll_request**)>;
void check_request_does_not_wait(Context& c, const Start& start, const std::function<uint32_t(size_t)>& expected,
                                 bool at_rank_0) {
  const size_t n = count;
  const Unpinnable in_memory(bytes), out_memory(bytes), root_memory(bytes);
  std::vector<uint32_t> in_heap(n), out_heap(n), root_heap(n);
  const bool owner = c.rank == 1;
  uint32_t* const in = owner ? in_memory.data() : in_heap.data();
  uint32_t* const out = owner ? out_memory.data() : out_heap.data();
  uint32_t* const data = owner ? root_memory.data() : root_heap.data();
  coll_comm* comm = c.comm();
  for (size_t i = 0; i < n; i++) in[i] = input(c.rank, i, 0), data[i] = input(c.rank, i, 1);
  coll_request* request = nullptr;
  if (owner) RANK_CHECK(c, start(c, in, out, comm, &request) == COLL_OK);
  c.meet();
  if (!owner) {
    RANK_CHECK(c, start(c, in, out, comm, &request) == COLL_OK);
    int done = 1;
    RANK_CHECK(c, coll_test(&request, &done) == COLL_OK && done == 0);
    coll_progress();
    c.shared->moment_ns = now_ns();
  }
  while (c.shared->moment_ns == 0) usleep(1000);  // makes no call of the library
  RANK_CHECK(c, coll_bcast(data, n, COLL_UINT32, 1, comm) == COLL_OK);
  RANK_CHECK(c, coll_wait(&request) == COLL_OK);
  for (size_t i = 0; i < n && !c.failed(); i++) {
    if (data[i] != input(1, i, 1)) c.fail("bcast is wrong at " + std::to_string(i));
    if ((at_rank_0 ? c.rank == 0 : c.rank == 1) && out[i] != expected(i))
      c.fail("the request's result is wrong at " + std::to_string(i));
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

TEST(RefusedCopies, AreNotAwaitedByRequests) {
  if (!Unpinnable::can_be_had()) GTEST_SKIP() << Unpinnable::missing;
  Environment forced("COLL_TRANSPORT", "cma"), writes("COLL_GATHER", "parallel_write");
  const size_t n = count;
  run_processes(2, [](Context& c) {
    const auto bcast = [](Context& self, const uint32_t* in, uint32_t* out, coll_comm* comm, coll_request** request) {
      if (self.rank == 1) memcpy(out, in, n * sizeof *in);
      return coll_ibcast(out, n, COLL_UINT32, 1, comm, request);
    };
    check_request_does_not_wait(
        c, bcast, [](size_t i) { return input(1, i, 0); }, true);
  });
  run_processes(2, [](Context& c) {
    const auto allreduce = [](Context&, const uint32_t* in, uint32_t* out, coll_comm* comm, coll_request** request) {
      return coll_iallreduce(in, out, n, COLL_UINT32, COLL_SUM, comm, request);
    };
    check_request_does_not_wait(
        c, allreduce, [](size_t i) { return input(0, i, 0) + input(1, i, 0); }, true);
  });
  run_processes(2, [](Context& c) {
    const auto gather = [](Context&, const uint32_t* in, uint32_t* out, coll_comm* comm, coll_request** request) {
      return coll_igather(in, out, n / 2, COLL_UINT32, 1, comm, request);
    };
    const auto block = [](size_t i) { return input(i < n / 2 ? 0 : 1, i % (n / 2), 0); };
    check_request_does_not_wait(c, gather, block, false);
  });
  run_processes(2, [](Context& c) {
    const auto exchange = [](Context& self, const uint32_t* in, uint32_t* out, coll_comm* comm,
                             coll_request** request) {
      const coll_outgoing send{0, in, n * sizeof *in};
      const coll_incoming receive{1, out, n * sizeof *out};
      return self.rank == 1 ? coll_ineighbor_exchange(&send, 1, nullptr, 0, comm, request)
                            : coll_ineighbor_exchange(nullptr, 0, &receive, 1, comm, request);
    };
    check_request_does_not_wait(
        c, exchange, [](size_t i) { return input(1, i, 0); }, true);
  });
}

// Each rank waits for copies by both others, in two exchanges at once. They take turns with its part of the segment.
TEST(RefusedCopies, OfSeveralMessagesTakeTurns) {
  if (!Unpinnable::can_be_had()) GTEST_SKIP() << Unpinnable::missing;
  Environment forced("COLL_TRANSPORT", "cma");
  constexpr size_t n = 200'000, memory_bytes = (n * 4 + 4095) / 4096 * 4096;
  for (bool blocking : {false, true})
    run_processes(3, [blocking](Context& c) {
      coll_comm* comm = c.comm();
      const Unpinnable in(memory_bytes);
      for (size_t i = 0; i < n; i++) in.data()[i] = input(c.rank, i, 0);
      const int below = (c.rank + 2) % 3, above = (c.rank + 1) % 3;
      const coll_outgoing sends[2] = {{below, in.data(), n * 4}, {above, in.data(), n * 4}};
      std::vector<uint32_t> out[2][2];
      coll_request* requests[2] = {};
      for (int r = 0; r < 2; r++) {
        for (std::vector<uint32_t>& one : out[r]) one.resize(n);
        const coll_incoming receives[2] = {{below, out[r][0].data(), n * 4}, {above, out[r][1].data(), n * 4}};
        if (blocking) RANK_CHECK(c, coll_neighbor_exchange(sends, 2, receives, 2, comm) == COLL_OK);
        else RANK_CHECK(c, coll_ineighbor_exchange(sends, 2, receives, 2, comm, &requests[r]) == COLL_OK);
      }
      for (coll_request*& request : requests) RANK_CHECK(c, blocking || coll_wait(&request) == COLL_OK);
      for (auto& [from_below, from_above] : out)
        for (size_t i = 0; i < n && !c.failed(); i++)
          if (from_below[i] != input(below, i, 0) || from_above[i] != input(above, i, 0))
            c.fail("wrong at " + std::to_string(i));
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
}

}  // namespace
