// SPDX-License-Identifier: BSD-3-Clause
// There is one lane per neighbour, because the executor advances each stream independently. The flag of the view says
// that a rank's table is complete; the two counts of a stream are flags here, numbered by the peer that they are for.
#include "algo/neighbor_exchange.h"

#include "algo/common.h"

namespace coll::algo {

Plan neighbor_exchange(const PlanRequest& request, const std::vector<std::vector<int>>& receivers) {
  const int ranks = request.hierarchy->ranks();
  PlanRequest of_pieces = request;
  of_pieces.irregular = true;
  const Ring ring = ring_of_blocks(of_pieces, ranks);
  Builder b = start(Collective::alltoall, "neighbors", of_pieces);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  b.direction(plan::Direction::read);
  const StagedView source(b, Buffer::send, ring, ranks);
  std::vector<uint16_t> staged, consumed;
  for (int peer = 0; peer < ranks; ++peer) staged.push_back(b.flag()), consumed.push_back(b.flag());
  std::vector<std::vector<int>> senders(receivers.size());
  for (int rank = 0; rank < ranks; ++rank)
    for (int peer : receivers[size_t(rank)]) senders[size_t(peer)].push_back(rank);

  for (int rank : b.ranks()) {
    LaneBuilder table = b.lane(rank);
    source.publish(table);
    table.post(source.flag, constant(1));
    for (int peer : receivers[size_t(rank)]) {
      const uint16_t range = piece(b, rank, peer, ring.chunk_bytes);
      LaneBuilder supply = b.lane(rank);
      if (peer == rank) {
        supply.loop(range).copy_result(range, own_recv(rank), own_send(rank)).end();
        continue;
      }
      // A staged stream ends with its last chunk; direct memory is in use until the receiver has consumed all of it.
      supply.wait(rank, source.flag, constant(1));
      supply.post(staged[size_t(peer)], all_iterations(range), source.direct());
      supply.loop(range);
      supply.wait(peer, consumed[size_t(rank)], iteration_before(ring.depth), source.staged());
      supply.copy(range, source.of(rank, peer), own_send(peer), source.staged());
      supply.post(staged[size_t(peer)], this_iteration(), source.staged());
      supply.end();
      supply.wait(peer, consumed[size_t(rank)], all_iterations(range), source.direct());
    }
    for (int peer : senders[size_t(rank)]) {
      if (peer == rank) continue;
      const uint16_t range = piece(b, peer, rank, ring.chunk_bytes);
      LaneBuilder fetch = b.lane(rank);
      fetch.wait(peer, source.flag, constant(1));
      fetch.loop(range);
      fetch.wait(peer, staged[size_t(rank)], this_iteration());
      fetch.copy_result(range, own_recv(peer), source.of(peer, rank));
      fetch.post(consumed[size_t(peer)], this_iteration());
      fetch.end();
    }
  }
  return b.finish();
}

}  // namespace coll::algo
