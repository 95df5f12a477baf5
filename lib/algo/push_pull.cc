// SPDX-License-Identifier: BSD-3-Clause
// A broadcast in which the root copies as much as every other rank. Each chunk is cut into one slice per rank: a rank
// reads all slices except the last from the root, and the root writes the last one to each rank. So every rank copies
// (p-1)/p of a vector, all at the same time; with two ranks, each copies one half.
#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {

Plan push_pull(const PlanRequest& request) {
  const char* name = "push_pull";
  const int ranks = request.hierarchy->ranks(), root = request.root;
  if (ranks == 1) return alone(Collective::bcast, name, request);
  const Ring ring = ring_of(request);
  Builder b = start(Collective::bcast, name, request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  const StagedView source(b, Buffer::send, ring), target(b, Buffer::recv, ring);
  const uint16_t pulled = b.flag(), pushed = b.flag(), chunks = b.range({.chunk_bytes = ring.chunk_bytes});
  const auto slices = [&](int first, int count) {
    return b.range(
        {.sub = uint16_t(first), .subs = uint16_t(ranks), .span = uint16_t(count), .chunk_bytes = ring.chunk_bytes});
  };
  const uint16_t read = slices(0, ranks - 1), written = slices(ranks - 1, 1);

  // Value n+1 of a target's flag: the slots of the first n iterations are free again; value 1: the target has started.
  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    if (rank == root) {
      const std::vector<int> peers = all_but(ranks, rank);
      source.announce(lane, chunks);
      wait_each(lane, peers, target.flag, constant(1));
      lane.loop(chunks);
      wait_each(lane, peers, pulled, iteration_before(ring.depth), source.staged());
      lane.copy(read, source.of(rank), own_send(), source.staged());
      lane.post(source.flag, this_iteration(), source.staged());
      for (int peer : peers)
        lane.wait(peer, target.flag, this_iteration(1 - ring.depth)).copy(written, target.of(peer), own_send());
      lane.post(pushed, this_iteration()).end();
      wait_each(lane, peers, pulled, all_iterations(chunks), source.direct());
    } else {
      target.publish(lane);
      lane.post(target.flag, constant(1), target.staged());
      lane.post(target.flag, all_iterations(chunks, 1), target.direct());
      lane.loop(chunks);
      lane.wait(root, source.flag, this_iteration()).copy_result(read, own_recv(), source.of(root));
      lane.post(pulled, this_iteration());
      lane.wait(root, pushed, this_iteration(), target.staged());
      lane.copy_result(written, own_recv(), target.of(rank), target.staged());
      lane.post(target.flag, this_iteration(1), target.staged()).end();
      lane.wait(root, pushed, all_iterations(chunks), target.direct());
    }
  }
  return b.finish();
}

}  // namespace coll::algo
