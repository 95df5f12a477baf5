// SPDX-License-Identifier: BSD-3-Clause
// Checks requests on one rank; the ranks are processes or threads.
#pragma once

#include <algorithm>

#include "../seed.h"
#include "comm/collectives.h"

namespace ranks {

// One collective with its buffers and its expected result.
struct Operation {
  enum Kind { barrier, bcast, reduce, allreduce, kinds };
  Kind kind;
  size_t n;
  int root;
  bool in_place;
  uint32_t round;
  std::vector<uint32_t> send, recv;
  coll_request* request = nullptr;

  void fill(const Context& c) {
    send.assign(n, 0);
    recv.assign(n, 0xeeeeeeee);
    for (size_t i = 0; i < n; i++) send[i] = input(c.rank, i, round);
    if (in_place || (kind == bcast && c.rank == root)) std::copy(send.begin(), send.end(), recv.begin());
  }
  const void* from(const Context& c) const {
    return in_place && (kind == allreduce || c.rank == root) ? COLL_IN_PLACE : static_cast<const void*>(send.data());
  }
  coll_status start(const Context& c, coll_comm* comm) {
    switch (kind) {
      case barrier: return coll_ibarrier(comm, &request);
      case bcast: return coll_ibcast(recv.data(), n, COLL_UINT32, root, comm, &request);
      case reduce: return coll_ireduce(from(c), recv.data(), n, COLL_UINT32, COLL_SUM, root, comm, &request);
      default: return coll_iallreduce(from(c), recv.data(), n, COLL_UINT32, COLL_SUM, comm, &request);
    }
  }
  coll_status prepare(const Context& c, coll_comm* comm) {
    switch (kind) {
      case barrier: return coll_barrier_init(comm, &request);
      case bcast: return coll_bcast_init(recv.data(), n, COLL_UINT32, root, comm, &request);
      case reduce: return coll_reduce_init(from(c), recv.data(), n, COLL_UINT32, COLL_SUM, root, comm, &request);
      default: return coll_allreduce_init(from(c), recv.data(), n, COLL_UINT32, COLL_SUM, comm, &request);
    }
  }
  bool right(const Context& c) const {
    if (kind == barrier || (kind == reduce && c.rank != root)) return true;
    for (size_t i = 0; i < n; i++)
      if (recv[i] != (kind == bcast ? input(root, i, round) : expected_sum(c.ranks, i, round))) return false;
    return true;
  }
};

// Starts 13 requests, more than three for each channel (comm::request_channels), of random kind and size, with blocking
// collectives between the starts. Every rank waits for them in an order of its own, with coll_wait() or coll_test().
inline void many_outstanding(Context& c, uint64_t seed, int batches) {
  coll_comm* comm = c.comm();
  if (comm == nullptr) return;
  std::mt19937_64 same(seed), own(seed + uint64_t(c.rank) + 1);
  const size_t sizes[] = {1, 12, 100, 1000, 5000, 70000};
  for (int batch = 0; batch < batches && !c.failed(); batch++) {
    std::vector<Operation> operations(13);
    uint32_t round = uint32_t(batch) * 100;
    for (Operation& o : operations) {
      o = {Operation::Kind(same() % Operation::kinds),
           sizes[same() % 6],
           int(same() % uint64_t(c.ranks)),
           same() % 2 == 0,
           round++,
           {},
           {}};
      o.fill(c);
      RANK_CHECK(c, o.start(c, comm) == COLL_OK);
      if (same() % 4 == 0) {
        uint32_t one = uint32_t(c.rank), sum = 0;
        RANK_CHECK(c, coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
        RANK_CHECK(c, sum == uint32_t(c.ranks * (c.ranks - 1) / 2));
      }
    }
    std::vector<size_t> order(operations.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    std::shuffle(order.begin(), order.end(), own);
    for (size_t i : order) {
      Operation& o = operations[i];
      if (own() % 2 == 0) {
        RANK_CHECK(c, coll_wait(&o.request) == COLL_OK);
      } else {
        for (int done = 0; done == 0;) RANK_CHECK(c, coll_test(&o.request, &done) == COLL_OK);
      }
      RANK_CHECK(c, o.request == nullptr);
      c.about =
          "kind " + std::to_string(o.kind) + ", " + std::to_string(o.n) + " elements, root " + std::to_string(o.root);
      RANK_CHECK(c, o.right(c));
      c.about.clear();
    }
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

// Starts 12 persistent requests again and again with new data: in every third round one after the other, otherwise all
// before the first wait.
inline void persistent(Context& c, int rounds) {
  coll_comm* comm = c.comm();
  if (comm == nullptr) return;
  std::vector<Operation> operations;
  for (size_t n : {size_t(2), size_t(3000), size_t(50000)})
    for (auto kind : {Operation::barrier, Operation::bcast, Operation::reduce, Operation::allreduce})
      operations.push_back({kind, n, int(n) % c.ranks, n == 3000, 0, {}, {}});
  for (Operation& o : operations) {
    o.fill(c);
    RANK_CHECK(c, o.prepare(c, comm) == COLL_OK);
  }
  for (int round = 0; round < rounds && !c.failed(); round++) {
    for (Operation& o : operations) {
      o.round = uint32_t(round) * 31;
      auto keep_send = o.send.data(), keep_recv = o.recv.data();
      o.fill(c);
      RANK_CHECK(c, keep_send == o.send.data() && keep_recv == o.recv.data());
      RANK_CHECK(c, coll_start(o.request) == COLL_OK);
      if (round % 3 == 0) RANK_CHECK(c, coll_wait(&o.request) == COLL_OK);
    }
    for (Operation& o : operations) {
      RANK_CHECK(c, coll_wait(&o.request) == COLL_OK);
      RANK_CHECK(c, o.right(c));
    }
  }
  for (Operation& o : operations) RANK_CHECK(c, coll_request_free(o.request) == COLL_OK);
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

// Two threads of each rank wait for the requests of one communicator, each for every second one, with coll_wait() or
// coll_test(), while the thread that has started them is in a blocking collective or starts more.
inline void waited_by_two_threads(Context& c, int batches) {
  coll_comm* comm = c.comm();
  if (comm == nullptr) return;
  for (int batch = 0; batch < batches && !c.failed(); batch++) {
    std::vector<Operation> operations;
    for (size_t n : {size_t(1), size_t(900), size_t(40'000)})
      for (auto kind : {Operation::barrier, Operation::bcast, Operation::reduce, Operation::allreduce})
        operations.push_back({kind, n, int(n) % c.ranks, false, uint32_t(batch * 100 + kind), {}, {}});
    for (Operation& o : operations) {
      o.fill(c);
      RANK_CHECK(c, o.start(c, comm) == COLL_OK);
    }
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (size_t own : {size_t(0), size_t(1)})
      threads.emplace_back([&, own] {
        for (size_t i = own; i < operations.size(); i += 2) {
          coll_status status = COLL_OK;
          if (int done = 0; i % 4 < 2) status = coll_wait(&operations[i].request);
          else
            while (done == 0 && status == COLL_OK) status = coll_test(&operations[i].request, &done);
          if (status != COLL_OK || operations[i].request != nullptr || !operations[i].right(c)) wrong++;
        }
      });
    const uint32_t one = 1;
    for (uint32_t turn = 0; turn < 20; turn++) {
      uint32_t sum = 0;
      if (batch % 2 == 0) {
        RANK_CHECK(c, coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
      } else {
        coll_request* request = nullptr;
        RANK_CHECK(c, coll_iallreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm, &request) == COLL_OK);
        RANK_CHECK(c, coll_wait(&request) == COLL_OK);
      }
      RANK_CHECK(c, sum == uint32_t(c.ranks));
    }
    for (std::thread& thread : threads) thread.join();
    RANK_CHECK(c, wrong == 0);
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

// Two threads of each rank start and wait concurrently. Their collectives are equal, so that the result does not depend
// on their order.
inline void started_by_two_threads(Context& c, int turns) {
  coll_comm* comm = c.comm();
  if (comm == nullptr) return;
  for (size_t n : {size_t(2), size_t(3000)}) {
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; thread++)
      threads.emplace_back([&] {
        std::vector<uint32_t> in(n, uint32_t(c.rank) + 1), out(n);
        for (int turn = 0; turn < turns && wrong == 0; turn++) {
          coll_request* request = nullptr;
          out.assign(n, 0);
          if (coll_iallreduce(in.data(), out.data(), n, COLL_UINT32, COLL_SUM, comm, &request) != COLL_OK ||
              coll_wait(&request) != COLL_OK || out[0] != uint32_t(c.ranks * (c.ranks + 1) / 2) || out[n - 1] != out[0])
            wrong++;
        }
      });
    for (std::thread& thread : threads) thread.join();
    RANK_CHECK(c, wrong == 0);
  }
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

}  // namespace ranks
