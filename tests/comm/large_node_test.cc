// SPDX-License-Identifier: BSD-3-Clause
// Many ranks on a machine that reports 16 TiB of memory: a communicator reserves the size of its layout, independent of
// the memory of the machine.
#include <sys/sysinfo.h>

#include "address_space.h"
#include "comm/collectives.h"
#include "comm/segment_layout.h"

using namespace ranks;

// Replaces the function of the C library.
extern "C" int sysinfo(struct sysinfo* info) noexcept {
  *info = {};
  info->totalram = size_t(16) << 20;
  info->mem_unit = 1 << 20;
  return 0;
}

namespace {

class LargeNode : public testing::TestWithParam<int> {};

TEST_P(LargeNode, ReservesTheSizeOfItsLayout) {
  run_processes(
      GetParam(),
      [](Context& c) {
        constexpr size_t other = size_t(32) << 20;  // strings, alignment, and the heap
        const size_t before = coll::test::address_space(), layout = coll::comm::SegmentLayout(c.ranks).texts();
        coll_comm* comm = c.comm();
        if (comm == nullptr) return;
        RANK_CHECK(c, coll::test::address_space() >= before + layout);
        RANK_CHECK(c, coll::test::address_space() <= before + layout + other);
        uint32_t sum = 0, one = 1;
        RANK_CHECK(c, coll_barrier(comm) == COLL_OK);
        RANK_CHECK(c, coll_allreduce(&one, &sum, 1, COLL_UINT32, COLL_SUM, comm) == COLL_OK);
        RANK_CHECK(c, sum == uint32_t(c.ranks));
        // The memory of one rank that the others map: one extent, once.
        constexpr size_t n = 100'000;
        Buffer shared(n * 4, c.rank == 0);
        if (c.rank == 0)
          for (size_t i = 0; i < n; i++) shared.data()[i] = input(0, i, 0);
        RANK_CHECK(c, coll_bcast(shared.data(), n, COLL_UINT32, 0, comm) == COLL_OK);
        for (size_t i = 0; i < n; i++)
          if (shared.data()[i] != input(0, i, 0)) return c.fail("bcast is wrong");
        RANK_CHECK(c, coll::test::address_space() <= before + layout + other + (size_t(64) << 20));
        RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
        RANK_CHECK(c, coll::test::address_space() <= before + other + (size_t(64) << 20));
      },
      -1, 120);
}

INSTANTIATE_TEST_SUITE_P(Ranks, LargeNode, testing::Values(2, 64, 128),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
