// SPDX-License-Identifier: BSD-3-Clause
// Every collective with many more ranks than cores: blocking and as requests, of sizes whose staging is in different
// rings, in an order that changes but is the same on all ranks. Then in one half of the ranks, and on all ranks again.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../seed.h"
#include "comm/collectives.h"
#include "plan/plan.h"

using namespace ranks;
using coll::plan::Collective;

namespace {

// Calls one collective as rank `rank` of `ranks`; `n` elements, or elements per block.
struct Operation {
  Collective kind;
  size_t n;
  int root, rank, ranks;
  uint32_t round;
  std::vector<uint32_t> send = {}, recv = {};
  coll_request* request = nullptr;

  size_t blocks_sent() const {
    const bool other_root = kind == Collective::scatter && rank != root;
    return has_blocks(kind, coll::plan::Buffer::send) && !other_root ? size_t(ranks) : 1;
  }
  size_t blocks_received() const {
    const bool other_root = kind == Collective::gather && rank != root;
    return has_blocks(kind, coll::plan::Buffer::recv) && !other_root ? size_t(ranks) : 1;
  }
  void fill() {
    send.resize(n * blocks_sent());
    recv.assign(n * blocks_received(), 0xeeeeeeee);
    for (size_t i = 0; i < send.size(); i++) send[i] = input(rank, i, round);
    if (kind == Collective::bcast && rank == root) recv = send;
  }
  coll_status call(coll_comm* comm) {
    const coll_datatype type = COLL_UINT32;
    const coll_op op = COLL_SUM;
    uint32_t *in = send.data(), *out = recv.data();
    switch (kind) {
      case Collective::barrier: return coll_barrier(comm);
      case Collective::bcast: return coll_bcast(out, n, type, root, comm);
      case Collective::reduce: return coll_reduce(in, out, n, type, op, root, comm);
      case Collective::allreduce: return coll_allreduce(in, out, n, type, op, comm);
      case Collective::scatter: return coll_scatter(in, out, n, type, root, comm);
      case Collective::gather: return coll_gather(in, out, n, type, root, comm);
      case Collective::allgather: return coll_allgather(in, out, n, type, comm);
      case Collective::alltoall: return coll_alltoall(in, out, n, type, comm);
      case Collective::reduce_scatter: return coll_reduce_scatter_block(in, out, n, type, op, comm);
      case Collective::scan: return coll_scan(in, out, n, type, op, comm);
      default: return coll_exscan(in, out, n, type, op, comm);
    }
  }
  coll_status start(coll_comm* comm) {
    const coll_datatype type = COLL_UINT32;
    const coll_op op = COLL_SUM;
    uint32_t *in = send.data(), *out = recv.data();
    switch (kind) {
      case Collective::barrier: return coll_ibarrier(comm, &request);
      case Collective::bcast: return coll_ibcast(out, n, type, root, comm, &request);
      case Collective::reduce: return coll_ireduce(in, out, n, type, op, root, comm, &request);
      case Collective::allreduce: return coll_iallreduce(in, out, n, type, op, comm, &request);
      case Collective::scatter: return coll_iscatter(in, out, n, type, root, comm, &request);
      case Collective::gather: return coll_igather(in, out, n, type, root, comm, &request);
      case Collective::allgather: return coll_iallgather(in, out, n, type, comm, &request);
      case Collective::alltoall: return coll_ialltoall(in, out, n, type, comm, &request);
      case Collective::reduce_scatter: return coll_ireduce_scatter_block(in, out, n, type, op, comm, &request);
      case Collective::scan: return coll_iscan(in, out, n, type, op, comm, &request);
      default: return coll_iexscan(in, out, n, type, op, comm, &request);
    }
  }
  // Element i of the expected result of this rank.
  uint32_t expected(size_t i) const {
    const size_t here = size_t(rank) * n + i, block = i / n, in_block = i % n;
    switch (kind) {
      case Collective::bcast: return input(root, i, round);
      case Collective::scatter: return input(root, here, round);
      case Collective::gather:
      case Collective::allgather: return input(int(block), in_block, round);
      case Collective::alltoall: return input(int(block), size_t(rank) * n + in_block, round);
      case Collective::reduce_scatter: return expected_sum(ranks, here, round);
      case Collective::scan: return expected_sum(rank + 1, i, round);
      case Collective::exscan: return expected_sum(rank, i, round);
      default: return expected_sum(ranks, i, round);
    }
  }
  bool right() const {
    const bool none = kind == Collective::barrier || (kind == Collective::exscan && rank == 0) ||
                      ((kind == Collective::reduce || kind == Collective::gather) && rank != root);
    for (size_t i = 0; !none && i < recv.size(); i++)
      if (recv[i] != expected(i)) return false;
    return true;
  }
  std::string text() const {
    return std::string(name(kind)) + ", " + std::to_string(n) + " elements, root " + std::to_string(root);
  }
};

void check(Context& c, coll_comm* comm, const std::vector<size_t>& bytes, int rounds) {
  const int rank = coll_comm_rank(comm), ranks = coll_comm_size(comm);
  std::mt19937 same(coll::test::seed());  // of all ranks
  uint32_t number = 0;
  for (int round = 0; round < rounds && !c.failed(); round++) {
    std::vector<Operation> operations;
    for (size_t size : bytes)
      for (int kind = 0; kind < coll::plan::collectives; kind++)
        operations.push_back({Collective(kind), size / 4, int(same() % unsigned(ranks)), rank, ranks, number++});
    std::shuffle(operations.begin(), operations.end(), same);
    for (Operation& o : operations) {
      o.fill();
      c.about = "blocking " + o.text();
      RANK_CHECK(c, o.call(comm) == COLL_OK);
      RANK_CHECK(c, o.right());
    }
    // Some requests at once, more than advance concurrently.
    for (size_t begin = 0; begin < operations.size() && !c.failed(); begin += 6) {
      const size_t end = std::min(begin + 6, operations.size());
      for (size_t i = begin; i < end; i++) {
        operations[i].fill();
        c.about = "request of " + operations[i].text();
        RANK_CHECK(c, operations[i].start(comm) == COLL_OK);
      }
      for (size_t i = begin; i < end; i++) {
        c.about = "request of " + operations[i].text();
        RANK_CHECK(c, coll_wait(&operations[i].request) == COLL_OK);
        RANK_CHECK(c, operations[i].right());
      }
    }
    c.about.clear();
  }
}

struct Case {
  int ranks;
  std::vector<size_t> bytes;
  int rounds;
};

class ManyRanks : public testing::TestWithParam<Case> {};

TEST_P(ManyRanks, GetTheResultOfEachCollective) {
  run_processes(
      GetParam().ranks,
      [](Context& c) {
        coll_comm *comm = c.comm(), *half = nullptr;
        if (comm == nullptr) return;
        check(c, comm, GetParam().bytes, GetParam().rounds);
        RANK_CHECK(c, coll_comm_split(comm, c.rank % 2, -c.rank, &half) == COLL_OK);
        if (half == nullptr) return;
        check(c, half, GetParam().bytes, 1);
        check(c, comm, {8}, 1);
        RANK_CHECK(c, coll_comm_free(half) == COLL_OK);
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      },
      -1, 500);
}

INSTANTIATE_TEST_SUITE_P(Few, ManyRanks, testing::Values(Case{17, {8, 1024, 4096, 65536}, 1}, Case{64, {8, 4096}, 1}),
                         [](const auto& info) { return std::to_string(info.param.ranks); });
INSTANTIATE_TEST_SUITE_P(More, ManyRanks,
                         testing::Values(Case{33, {8, 600, 4096, 20000, 262144}, 2}, Case{128, {8, 4096, 262144}, 1},
                                         Case{256, {8, 4096}, 1}),
                         [](const auto& info) { return std::to_string(info.param.ranks); });

// Each communicator needs mappings, of which a process may have 65,530 by default, and memory once it is used, but no
// descriptor.
TEST(MoreCommunicators, TenThousandAliveAtOnce) {
  constexpr int communicators = 10'000;
  run_processes(
      2,
      [](Context& c) {
        coll_comm* comm = c.comm();
        if (comm == nullptr) return;
        std::vector<coll_comm*> made(communicators);
        const auto use = [&](int i) {
          uint32_t in = uint32_t(i + c.rank), out = 0;
          RANK_CHECK(c, coll_allreduce(&in, &out, 1, COLL_UINT32, COLL_SUM, made[size_t(i)]) == COLL_OK);
          RANK_CHECK(c, out == uint32_t(2 * i + 1));
        };
        for (int i = 0; i < communicators && !c.failed(); i++) {
          RANK_CHECK(c, coll_comm_split(comm, 0, c.rank, &made[size_t(i)]) == COLL_OK);
          if (made[size_t(i)] == nullptr) return;
          use(i);
        }
        for (int i = 0; i < communicators && !c.failed(); i += 7) use(i);
        for (coll_comm* each : made) RANK_CHECK(c, coll_comm_free(each) == COLL_OK);
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
      },
      -1, 300);
}

}  // namespace
