// SPDX-License-Identifier: BSD-3-Clause
// gather_bcast: all ranks write their pieces to rank 0 and read all others from there (KNEM V-C). The memory of rank 0
// serves all p ranks, which the paper itself names as the weakness; the algorithm is kept for comparison.
#include "algo/allgather.h"
#include "algo/common.h"

namespace coll::algo {

// Value n+1 of the root's flag: the slots of the first n iterations are free again; value 1: the root has started.
Plan gather_bcast(const PlanRequest& request) {
  constexpr int root = 0;
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(Collective::allgather, "gather_bcast", request);
  const Ring ring = ring_of_blocks(request, ranks);
  const std::vector<int> others = all_but(ranks, root);
  Builder b = start(Collective::allgather, "gather_bcast", request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  const StagedView gathered(b, Buffer::recv, ring, ranks);
  const uint16_t written = b.flag(), complete = b.flag(), consumed = b.flag();
  const uint16_t longest = piece(b, any_rank, any_rank, ring.chunk_bytes);
  std::vector<uint16_t> pieces;
  for (int rank = 0; rank < ranks; ++rank) pieces.push_back(piece(b, rank, any_rank, ring.chunk_bytes));

  for (int rank : b.ranks()) {
    const uint16_t mine = pieces[size_t(rank)];
    LaneBuilder in = b.lane(rank);
    if (rank == root) {
      gathered.publish(in);
      in.post(gathered.flag, constant(1), gathered.staged());
      in.post(gathered.flag, all_iterations(longest, 1), gathered.direct());
      in.loop(longest);
      in.copy(mine, own_recv(root), own_send());
      wait_each(in, others, consumed, iteration_before(ring.depth), gathered.staged());
      in.copy(mine, gathered.of(root, root), own_send(), gathered.staged());
      for (int peer : others) {
        in.wait(peer, written, this_iteration_of(pieces[size_t(peer)]));
        in.copy_result(pieces[size_t(peer)], own_recv(peer), gathered.of(root, peer), gathered.staged());
      }
      in.post(complete, this_iteration()).end();
      wait_each(in, others, consumed, all_iterations(longest), gathered.direct());

      LaneBuilder free = b.lane(rank);
      free.wait(root, gathered.flag, constant(1));  // the other lane has published the view
      free.loop(longest);
      wait_each(free, others, consumed, this_iteration(), gathered.staged());
      free.post(gathered.flag, this_iteration(1), gathered.staged()).end();
    } else {
      in.wait(root, gathered.flag, constant(1));
      in.loop(mine);
      in.wait(root, gathered.flag, this_iteration(1 - ring.depth));
      in.copy(mine, gathered.of(root, rank), own_send());
      in.post(written, this_iteration());
      in.copy_result(mine, own_recv(rank), own_send());
      in.end();

      LaneBuilder out = b.lane(rank);
      out.wait(root, gathered.flag, constant(1));
      out.loop(longest).wait(root, complete, this_iteration());
      for (int peer : all_but(ranks, rank))
        out.copy_result(pieces[size_t(peer)], own_recv(peer), gathered.of(root, peer));
      out.post(consumed, this_iteration()).end();
    }
  }
  return b.finish();
}

}  // namespace coll::algo
