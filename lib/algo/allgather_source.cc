// SPDX-License-Identifier: BSD-3-Clause
// Allgather from the source: every piece goes directly from its rank to every other rank. Ranks begin with different
// peers, so that not all of them access one rank at once, and wait only for data (CMA V-A.2).
#include "algo/allgather.h"
#include "algo/common.h"

namespace coll::algo {
namespace {

// The ranges of all pieces; every rank knows all lengths.
struct Pieces {
  uint16_t longest;
  std::vector<uint16_t> from;  // by sender

  Pieces(Builder& b, int ranks, uint32_t chunk_bytes) : longest(piece(b, any_rank, any_rank, chunk_bytes)) {
    for (int rank = 0; rank < ranks; ++rank) from.push_back(piece(b, rank, any_rank, chunk_bytes));
  }
  uint16_t operator[](int rank) const { return from[size_t(rank)]; }
};

// The peers of steps 1, 2 ... p-1.
std::vector<int> before(int ranks, int rank) {
  std::vector<int> peers;
  for (int step = 1; step < ranks; ++step) peers.push_back((rank - step + ranks) % ranks);
  return peers;
}
std::vector<int> after(int ranks, int rank) {
  std::vector<int> peers;
  for (int step = 1; step < ranks; ++step) peers.push_back((rank + step) % ranks);
  return peers;
}

Builder start_allgather(const char* name, const PlanRequest& request, Ring ring) {
  Builder b = start(Collective::allgather, name, request);
  b.parameter("chunk", ring.chunk_bytes);
  b.parameter("depth", ring.depth);
  b.synchronizing();
  return b;
}

// Value n+1 of a view's flag: n iterations of the piece are complete. Value 1 thus says that the rank has started, also
// if its piece is empty; every rank waits for it from all others.
Plan read(const PlanRequest& request, const char* name, Buffer buffer) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(Collective::allgather, name, request);
  const Ring ring = ring_of(request);
  Builder b = start_allgather(name, request, ring);
  b.direction(plan::Direction::read);
  b.one_reader();
  const StagedView source(b, buffer, ring);
  const uint16_t consumed = b.flag();
  const Pieces pieces(b, ranks, ring.chunk_bytes);
  for (int rank : b.ranks()) {
    const std::vector<int> peers = before(ranks, rank);
    const uint16_t mine = pieces[rank];

    LaneBuilder supply = b.lane(rank);
    source.publish(supply);
    if (!source.plain) supply.post(source.flag, all_iterations(mine, 1), source.direct());
    supply.loop(mine);
    wait_each(supply, peers, consumed, iteration_before(ring.depth), source.staged());
    supply.copy(mine, source.of(rank), own_send(), source.staged());
    supply.post(source.flag, this_iteration(1), source.staged());
    supply.copy_result(mine, own_recv(rank), own_send());
    supply.end();
    supply.post(source.flag, all_iterations(mine, 1), source.staged());
    if (!source.plain) wait_each(supply, peers, consumed, all_iterations(mine), source.direct());

    LaneBuilder fetch = b.lane(rank);
    fetch.loop(pieces.longest);
    for (int peer : peers) {
      fetch.wait(peer, source.flag, this_iteration_of(pieces[peer], 1));
      fetch.copy_result(pieces[peer], own_recv(peer), source.of(peer));
    }
    fetch.post(consumed, this_iteration()).end();
    wait_each(fetch, peers, source.flag, constant(1));
  }
  return b.finish();
}

}  // namespace

Plan source_read(const PlanRequest& request, const char* name) { return read(request, name, Buffer::send); }
Plan shm_pipelined_allgather(const PlanRequest& request) { return read(request, "shm_pipelined", Buffer::none); }

// Value n+1 of a target's flag: the slots of the first n iterations are free again; value 1: the target has started.
Plan ring_source_write(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks();
  if (ranks == 1) return alone(Collective::allgather, "ring_source_write", request);
  const Ring ring = ring_of_blocks(request, ranks);
  Builder b = start_allgather("ring_source_write", request, ring);
  b.direction(plan::Direction::write);
  const StagedView target(b, Buffer::recv, ring, ranks);
  const uint16_t sent = b.flag();
  const Pieces pieces(b, ranks, ring.chunk_bytes);
  for (int rank : b.ranks()) {
    const uint16_t mine = pieces[rank];

    LaneBuilder empty = b.lane(rank);
    target.publish(empty);
    empty.post(target.flag, constant(1), target.staged());
    empty.post(target.flag, all_iterations(pieces.longest, 1), target.direct());
    empty.loop(pieces.longest);
    for (int peer : before(ranks, rank)) {
      empty.wait(peer, sent, this_iteration_of(pieces[peer]));
      empty.copy_result(pieces[peer], own_recv(peer), target.of(rank, peer), target.staged());
    }
    empty.post(target.flag, this_iteration(1), target.staged()).end();

    LaneBuilder write = b.lane(rank);
    wait_each(write, after(ranks, rank), target.flag, constant(1));
    write.loop(mine);
    for (int peer : after(ranks, rank)) {
      write.wait(peer, target.flag, this_iteration(1 - ring.depth));
      write.copy(mine, target.of(peer, rank), own_send());
    }
    write.post(sent, this_iteration());
    write.copy_result(mine, own_recv(rank), own_send());
    write.end();
  }
  return b.finish();
}

}  // namespace coll::algo
