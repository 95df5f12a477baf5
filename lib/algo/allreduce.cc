// SPDX-License-Identifier: BSD-3-Clause
// Reductions to all ranks. Here are the small ones that are allreduces only; those that reduce shares have files of
// their own.
#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

// Everybody stages, everybody reduces everything: one hop. Two slots are enough and nobody acknowledges: who sees a
// rank's next chunk knows that it is done with this one.
Plan all_read(const Request& request) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(Collective::allreduce, "all_read", request);
  Builder b = start(Collective::allreduce, "all_read", request);
  b.synchronizing();
  Ring ring{ring_of(request).chunk_bytes, 2};
  b.parameter("chunk", ring.chunk_bytes);
  Window input(b, Buffer::none, ring);
  const uint16_t chunks = b.range({.chunk_bytes = ring.chunk_bytes});
  for (int rank : b.ranks()) {
    std::vector<Operand> sources;
    for (int q = 0; q < ranks; ++q) sources.push_back(q == rank ? own_send() : input.of(q));
    const Operand to[] = {own_recv()};
    LaneBuilder lane = b.lane(rank);
    lane.loop(chunks);
    lane.copy(chunks, input.of(rank), own_send());
    lane.post(input.flag, this_pass());
    wait_each(lane, all_but(ranks, rank), input.flag, this_pass());
    lane.reduce(chunks, to, sources);
    lane.end();
  }
  return b.finish();
}

const Algorithm family[] = {
    {.collective = Collective::allreduce,
     .name = "all_read",
     .summary = "everybody reduces everybody's data: one hop, for tiny vectors",
     .source = "this project",
     .reads = {.chunk = true},
     .max_bytes = 16384,
     .applies = always,
     .make = all_read},
    {.collective = Collective::allreduce,
     .name = "hierarchical",
     .summary = "leaders reduce their groups, level by level; finished chunks come down while others go up",
     .source = "XHC IV-B",
     .rank_order = false,
     .left_to_right = false,
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .applies = has_levels,
     .make = [](const Request& request) { return hierarchical(request, Collective::allreduce); }},
    {.collective = Collective::allreduce,
     .name = "fused",
     .summary = "each rank reduces a slice from all ranks in one pass, the others copy it",
     .source = "this project; SAS for the mapped buffers",
     .reads = {.chunk = true, .depth = true},
     .applies = always,
     .make = [](const Request& request) { return fused(request, Collective::allreduce); }},
};

}  // namespace

std::span<const Algorithm> allreduce_family() { return family; }

}  // namespace coll::algo
