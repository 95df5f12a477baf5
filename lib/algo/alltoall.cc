// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in which every rank reads its pieces from their senders, one after the other; the variants differ in the
// order. In every order a sender has one reader at a time while all ranks advance at the same pace.
#include "algo/alltoall.h"

#include <bit>

#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

using plan::AccessMode;

// Value n+1 of a view's flag: n iterations of every piece are complete. Value 1 thus says that the rank has started;
// every rank waits for it from all others. Senders and receivers have separate loops, because each rank knows only the
// lengths of its own pieces.
template <class SenderOf>
Plan exchange(const PlanRequest& request, const char* name, SenderOf sender_of) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(Collective::alltoall, name, request);
  const Ring ring = ring_of_blocks(request, ranks);
  Builder b = start(Collective::alltoall, name, request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  b.direction(plan::Direction::read);
  b.one_reader();
  b.synchronizing();
  const StagedView source(b, Buffer::send, ring, ranks);
  const uint16_t consumed = b.flag();
  // Irregular pieces have one range per pair of ranks; ranges of other pairs are not registered.
  const auto range_of = [&](int sender, int receiver) {
    return request.irregular ? piece(b, sender, receiver, ring.chunk_bytes)
                             : piece(b, any_rank, any_rank, ring.chunk_bytes);
  };

  for (int rank : b.ranks()) {
    std::vector<int> senders;
    for (int step = 1; step < ranks; ++step) senders.push_back(sender_of(rank, step));
    const uint16_t mine = range_of(rank, rank);
    const uint16_t longest_sent = range_of(rank, any_rank), longest_got = range_of(any_rank, rank);

    LaneBuilder supply = b.lane(rank);
    source.publish(supply);
    supply.post(source.flag, all_iterations(longest_sent, 1), source.direct());
    supply.loop(longest_sent);
    for (int peer : senders) {
      supply.wait(peer, consumed, iteration_before_of(range_of(rank, peer), ring.depth), source.staged());
      supply.copy(range_of(rank, peer), source.of(rank, peer), own_send(peer), source.staged());
    }
    supply.post(source.flag, this_iteration(1), source.staged());
    supply.copy_result(mine, own_recv(rank), own_send(rank));
    supply.end();
    supply.post(source.flag, all_iterations(longest_sent, 1), source.staged());
    for (int peer : senders) supply.wait(peer, consumed, all_iterations(range_of(rank, peer)), source.direct());

    LaneBuilder fetch = b.lane(rank);
    fetch.loop(longest_got);
    for (int peer : senders) {
      fetch.wait(peer, source.flag, this_iteration_of(range_of(peer, rank), 1));
      fetch.copy_result(range_of(peer, rank), own_recv(peer), source.of(peer, rank));
    }
    fetch.post(consumed, this_iteration()).end();
    wait_each(fetch, senders, source.flag, constant(1));
  }
  return b.finish();
}

bool is_power_of_two(int ranks) { return std::has_single_bit(unsigned(ranks)); }

// CMA IV-C.1: the peers of a step exchange in pairs if the number of ranks is a power of two.
Plan pairwise(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks();
  return exchange(request, "pairwise", [=](int rank, int step) {
    return is_power_of_two(ranks) ? rank ^ step : (rank - step + ranks) % ranks;
  });
}

// KNEM Fig. 3: each rank begins with the next one.
Plan rotated(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks();
  return exchange(request, "rotated", [=](int rank, int step) { return (rank + step) % ranks; });
}

// Of two that cost the same, the first one is chosen. In `pairwise`, all ranks of a NUMA node read from one other node at
// a time, and nothing keeps the nodes in step: in the end several of them read from the same one.
const Algorithm family[] = {
    {.collective = Collective::alltoall,
     .name = "rotated",
     .summary = "every rank reads from one peer after the other, beginning with the next rank",
     .source = "KNEM V-C, Fig. 3",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = AccessMode::remote,
     .applies = always,
     .make = rotated},
    {.collective = Collective::alltoall,
     .name = "pairwise",
     .summary = "every rank reads from one peer after the other, in pairs if p is a power of two",
     .source = "CMA IV-C.1",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = AccessMode::remote,
     .applies = always,
     .make = pairwise},
    {.collective = Collective::alltoall,
     .name = "bruck",
     .summary = "blocks go over doubling distances, in log2 p steps (rounded up)",
     .source = "CMA IV-C.2",
     .reads = {.chunk = true, .depth = true},
     .described = AccessMode::staged,
     .max_bytes = 4096,
     .applies = always,
     .make = alltoall_bruck},
    {.collective = Collective::alltoall,
     .name = "grouped",
     .summary = "in groups of at most 16 ranks, a member collects what the group has for its targets",
     .source = "this project",
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .described = AccessMode::staged,
     .max_bytes = 16384,
     .applies = has_small_groups,
     .make = grouped_alltoall},
};

}  // namespace

std::span<const Algorithm> alltoall_family() { return family; }

}  // namespace coll::algo
