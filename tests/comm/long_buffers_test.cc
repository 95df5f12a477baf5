// SPDX-License-Identifier: BSD-3-Clause
// Which buffers of a call get huge pages, on which ranks.
#include <array>

#include "comm/ranks.h"
#include "mem/region.h"

using namespace ranks;
using coll::mem::huge_page_bytes;
using coll::mem::HugePages;
using coll::mem::Region;

namespace {

constexpr size_t piece = huge_page_bytes / sizeof(float);  // elements
constexpr int members = 2, root = 1;

// Bytes of this rank's buffers that a call uses and that are in huge pages.
struct Used {
  size_t send, recv;
};

struct Case {
  const char* name;
  coll_status (*call)(const float* send, float* recv, coll_comm* comm);
  std::array<Used, members> used;
};

template <auto reduce>
coll_status reduced(const float* send, float* recv, coll_comm* comm) {
  return reduce(send, recv, piece, COLL_FLOAT, COLL_SUM, comm);
}
template <auto move>
coll_status moved(const float* send, float* recv, coll_comm* comm) {
  return move(send, recv, piece, COLL_FLOAT, comm);
}
template <auto move>
coll_status moved_by_root(const float* send, float* recv, coll_comm* comm) {
  return move(send, recv, piece, COLL_FLOAT, root, comm);
}

constexpr std::array<size_t, members> counts = {piece, piece}, displs = {piece, 2 * piece}, few = {piece / 8, piece};

const Case cases[] = {
    {"bcast",
     [](const float*, float* recv, coll_comm* comm) { return coll_bcast(recv, piece, COLL_FLOAT, root, comm); },
     {{{0, 1}, {0, 1}}}},
    {"reduce",
     [](const float* send, float* recv, coll_comm* comm) {
       return coll_reduce(send, recv, piece, COLL_FLOAT, COLL_SUM, root, comm);
     },
     {{{1, 0}, {1, 1}}}},
    {"allreduce", reduced<coll_allreduce>, {{{1, 1}, {1, 1}}}},
    {"allreduce in place",
     [](const float*, float* recv, coll_comm* comm) {
       return coll_allreduce(COLL_IN_PLACE, recv, piece, COLL_FLOAT, COLL_SUM, comm);
     },
     {{{0, 1}, {0, 1}}}},
    {"scatter", moved_by_root<coll_scatter>, {{{0, 1}, {2, 1}}}},
    {"gather", moved_by_root<coll_gather>, {{{1, 0}, {1, 2}}}},
    {"allgather", moved<coll_allgather>, {{{1, 2}, {1, 2}}}},
    {"alltoall", moved<coll_alltoall>, {{{2, 2}, {2, 2}}}},
    {"reduce_scatter_block", reduced<coll_reduce_scatter_block>, {{{2, 1}, {2, 1}}}},
    {"scan", reduced<coll_scan>, {{{1, 1}, {1, 1}}}},
    {"allgatherv",
     [](const float* send, float* recv, coll_comm* comm) {
       return coll_allgatherv(send, piece, recv, counts.data(), displs.data(), COLL_FLOAT, comm);
     },
     {{{1, 2}, {1, 2}}}},
    {"gatherv",
     [](const float* send, float* recv, coll_comm* comm) {
       return coll_gatherv(send, few[size_t(coll_comm_rank(comm))], recv, few.data(), displs.data(), COLL_FLOAT, root,
                           comm);
     },
     {{{0, 0}, {1, 2}}}},
};

void check(Context& c, const Case& one) {
  Region send(3 * huge_page_bytes), recv(3 * huge_page_bytes);
  auto* from = reinterpret_cast<float*>(send.data());
  auto* to = reinterpret_cast<float*>(recv.data());
  coll_comm* comm = c.comm();
  for (int i = 0; i < HugePages::uses; i++) RANK_CHECK(c, one.call(from, to, comm) == COLL_OK);
  const Used used = one.used[size_t(c.rank)];
  if (send.huge_bytes() != used.send * huge_page_bytes || recv.huge_bytes() != used.recv * huge_page_bytes)
    c.fail(std::string(one.name) + ": " + std::to_string(send.huge_bytes() >> 20) + " and " +
           std::to_string(recv.huge_bytes() >> 20) + " MiB of huge pages");
  RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
}

using LongBuffers = coll::mem::NeedsHugePages;

TEST_F(LongBuffers, GetHugePagesIfTheyAreUsed) {
  for (const Case& one : cases) run_processes(members, [&](Context& c) { check(c, one); });
}

TEST_F(LongBuffers, OfMappedMemoryGetHugePagesToo) {
  run_processes(members, [](Context& c) {
    coll_comm* comm = c.comm();
    void* memory = nullptr;
    RANK_CHECK(c, coll_mem_alloc(2 * huge_page_bytes, &memory) == COLL_OK);
    auto* vector = static_cast<float*>(memory);
    const size_t before = coll::mem::huge_bytes_at(memory);
    for (size_t i = 0; i < 2 * piece; i++) vector[i] = 1;
    for (int i = 0; i < HugePages::uses; i++)
      RANK_CHECK(c, coll_allreduce(COLL_IN_PLACE, vector, 2 * piece, COLL_FLOAT, COLL_SUM, comm) == COLL_OK);
    RANK_CHECK(c, coll::mem::huge_bytes_at(memory) - before == 2 * huge_page_bytes);
    size_t wrong = 0;
    for (size_t i = 0; i < 2 * piece; i++) wrong += vector[i] != 1 << HugePages::uses;
    RANK_CHECK(c, wrong == 0);
    RANK_CHECK(c, coll_mem_free(memory) == COLL_OK);
    RANK_CHECK(c, coll_comm_free(comm) == COLL_OK);
  });
}

TEST_F(LongBuffers, KeepTheirPagesIfTheUserDisablesHugePages) {
  run_processes(members, [](Context& c) {
    c.set("COLL_HUGE_PAGES", "off");
    check(c, {"allreduce", reduced<coll_allreduce>, {{{0, 0}, {0, 0}}}});
  });
}

}  // namespace
