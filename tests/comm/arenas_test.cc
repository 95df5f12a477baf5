// SPDX-License-Identifier: BSD-3-Clause
// Memory of coll_mem_alloc(): peers map it when a collective first uses it, or copy it if they cannot map it.
#include <fstream>

#include "address_space.h"
#include "api/handles.h"
#include "comm/collectives.h"
#include "transport/arena.h"

using namespace ranks;
using coll::transport::Arena;

namespace {

const coll::exec::Team& team_of(coll_comm* comm) { return comm->comm->team(); }

size_t mappings_of(const char* name) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(name) != std::string::npos;
  return count;
}
// This is the format of the kernel for files without a name in a file system. Segments have a longer name.
size_t arenas_mapped() { return mappings_of("/memfd:libcoll (deleted)"); }

// All operands are in mappable memory: plans that read, plans that write, latency paths, requests.
void check_moves(Context& c, coll_comm* comm, size_t n, uint32_t round) {
  const size_t all = n * size_t(c.ranks);
  Buffer in(all * 4, true), out(all * 4, true);
  for (size_t i = 0; i < all; i++) in.data()[i] = input(c.rank, i, round);
  RANK_CHECK(c, coll_alltoall(in.data(), out.data(), n, COLL_UINT32, comm) == COLL_OK);
  for (size_t i = 0; i < all; i++)
    if (out.data()[i] != input(int(i / n), size_t(c.rank) * n + i % n, round)) return c.fail("alltoall is wrong");
  RANK_CHECK(c, coll_allgather(in.data(), out.data(), n, COLL_UINT32, comm) == COLL_OK);
  for (size_t i = 0; i < all; i++)
    if (out.data()[i] != input(int(i / n), i % n, round)) return c.fail("allgather is wrong");
  for (int root = 0; root < c.ranks; root++) {
    RANK_CHECK(c, coll_gather(in.data(), out.data(), n, COLL_UINT32, root, comm) == COLL_OK);
    for (size_t i = 0; i < all && c.rank == root; i++)
      if (out.data()[i] != input(int(i / n), i % n, round)) return c.fail("gather is wrong");
    RANK_CHECK(c, coll_scatter(in.data(), out.data(), n, COLL_UINT32, root, comm) == COLL_OK);
    for (size_t i = 0; i < n; i++)
      if (out.data()[i] != input(root, size_t(c.rank) * n + i, round)) return c.fail("scatter is wrong");
  }
  coll_request* request = nullptr;
  RANK_CHECK(c, coll_ibcast(in.data(), all, COLL_UINT32, 0, comm, &request) == COLL_OK);
  RANK_CHECK(c, coll_wait(&request) == COLL_OK);
  for (size_t i = 0; i < all; i++)
    if (in.data()[i] != input(0, i, round)) return c.fail("ibcast is wrong");
}

TEST(Arena, IsMadeAndMappedWhenItIsUsed) {
  run_processes(3, [](Context& c) {
    coll_comm* comm = c.comm();
    std::vector<uint32_t> data(100'000, 1);
    RANK_CHECK(c, coll_allreduce(COLL_IN_PLACE, data.data(), data.size(), COLL_UINT32, COLL_SUM, comm) == COLL_OK);
    RANK_CHECK(c, Arena::existing() == nullptr && arenas_mapped() == 0);
    {
      Buffer small(64, true), large(size_t(1) << 20, true);
      RANK_CHECK(c, arenas_mapped() > 0);
      const size_t own = arenas_mapped();
      RANK_CHECK(c, coll_bcast(small.data(), 16, COLL_UINT32, 0, comm) == COLL_OK);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      RANK_CHECK(c, arenas_mapped() == own);  // staged, because it is short
      const size_t before = coll::test::address_space();
      RANK_CHECK(c, coll_bcast(large.data(), 1 << 18, COLL_UINT32, 0, comm) == COLL_OK);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      RANK_CHECK(c, arenas_mapped() == own + (c.rank == 0 ? 0 : 1));
      RANK_CHECK(c, coll::test::address_space() <= before + (size_t(80) << 20));
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// Peers map only the part of an arena that a collective uses.
TEST(Arena, IsMappedByExtents) {
  run_processes(2, [](Context& c) {
    coll_comm* comm = c.comm();
    constexpr size_t huge = size_t(2) << 30;
    {
      Buffer small(size_t(1) << 20, true), large(huge, true), more(size_t(1) << 20, true);
      const size_t before = coll::test::address_space();
      RANK_CHECK(c, coll_bcast(small.data(), 1 << 18, COLL_UINT32, 0, comm) == COLL_OK);
      RANK_CHECK(c, coll_bcast(more.data(), 1 << 18, COLL_UINT32, 0, comm) == COLL_OK);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      RANK_CHECK(c, coll::test::address_space() <= before + (size_t(80) << 20));
      uint32_t* last = large.data() + huge / 4 - (1 << 18);
      for (size_t i = 0; i < 1 << 18; i++) last[i] = input(c.rank, i, 0);
      RANK_CHECK(c, coll_bcast(last, 1 << 18, COLL_UINT32, 0, comm) == COLL_OK);
      RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
      RANK_CHECK(c, c.rank == 0 || coll::test::address_space() >= before + huge);
      for (size_t i = 0; i < 1 << 18; i++)
        if (last[i] != input(0, i, 0)) return c.fail("bcast is wrong");
    }
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// An arena cannot be mapped any more after the program has closed its descriptor.
class UnmappableArena : public testing::TestWithParam<std::tuple<int, bool, const char*>> {};

TEST_P(UnmappableArena, IsCopiedByItsOwnerAndThenStaged) {
  const auto [ranks, all, direct_min] = GetParam();
  Environment least("COLL_DIRECT_MIN", direct_min);
  run_processes(ranks, [all = all](Context& c) {
    coll_comm* comm = c.comm();
    const bool closes = all || c.rank == 1;
    Buffer first(64, true);
    if (closes) close(Arena::existing()->descriptor());
    RANK_CHECK(c, team_of(comm).map_arenas);
    check_moves(c, comm, 3'000, 1);
    RANK_CHECK(c, team_of(comm).map_arenas == !closes);
    for (size_t n : {100, 3'000, 9'000, 200'000}) check_moves(c, comm, n, uint32_t(n));
    check_all(c, comm, {4, 4096, 40'000, 1 << 20}, true);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    // A plan uses it first.
    comm = c.comm();
    check_moves(c, comm, 200'000, 2);
    check_all(c, comm, {1 << 20}, true);
    RANK_CHECK(c, team_of(comm).map_arenas == !closes);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

// A reduction uses it first; its steps read operands of several peers and write results to others.
TEST_P(UnmappableArena, IsReducedAllTheSame) {
  const auto [ranks, all, direct_min] = GetParam();
  Environment least("COLL_DIRECT_MIN", direct_min);
  for (const size_t bytes : {size_t(9'000), size_t(1) << 20})
    run_processes(ranks, [all = all, bytes](Context& c) {
      coll_comm* comm = c.comm();
      Buffer first(64, true);
      if (all || c.rank == 1) close(Arena::existing()->descriptor());
      check_all(c, comm, {bytes, bytes}, true);
      RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
    });
}

INSTANTIATE_TEST_SUITE_P(Ranks, UnmappableArena,
                         testing::Combine(testing::Values(2, 4), testing::Bool(), testing::Values("64", "8192")),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "all" : "one") +
                                  std::get<2>(info.param);
                         });

}  // namespace
