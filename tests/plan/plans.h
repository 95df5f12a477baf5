// SPDX-License-Identifier: BSD-3-Clause
// Small hand-written plans, all correct; tests plant faults in them.
#pragma once

#include <vector>

#include "plan/builder.h"
#include "plan/plan.h"

namespace coll::plan::testing {

// Every rank reads the root's buffer; a staged root fills a ring of `depth` slots.
inline Plan flat_bcast(int ranks, int root, uint32_t chunk_bytes, uint16_t depth = 2) {
  Builder b(Collective::bcast, "flat", ranks, root);
  uint16_t data = b.view(Buffer::send, chunk_bytes, depth);
  uint16_t read = b.flag();
  uint16_t chunks = b.range({.chunk_bytes = chunk_bytes});
  for (int rank : b.ranks()) {
    auto lane = b.lane(rank);
    if (rank != root) {
      lane.loop(chunks)
          .wait(root, b.view_flag(data), this_iteration())
          .copy(chunks, own_recv(), seen(data, root))
          .post(read, this_iteration())
          .end();
      continue;
    }
    lane.publish(data).loop(chunks);
    for (int reader = 0; reader < ranks; ++reader)
      if (reader != root) lane.wait(reader, read, iteration_before(depth), if_staged(data));
    lane.copy(chunks, seen(data, root), own_send(), if_staged(data)).post(b.view_flag(data), this_iteration()).end();
    for (int reader = 0; reader < ranks; ++reader)
      if (reader != root) lane.wait(reader, read, all_iterations(chunks), if_direct(data));
  }
  return b.finish();
}

// Each rank reads from the one before it, beginning at the root; no rank needs more than its neighbours.
inline Plan chain_bcast(int ranks, int root, uint32_t chunk_bytes, uint16_t depth = 2) {
  Builder b(Collective::bcast, "chain", ranks, root);
  uint16_t data = b.view(Buffer::recv, chunk_bytes, depth);
  uint16_t read = b.flag();
  uint16_t chunks = b.range({.chunk_bytes = chunk_bytes});
  for (int rank : b.ranks()) {
    int place = (rank - root + ranks) % ranks;
    int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    bool first = place == 0, last = place == ranks - 1;
    auto lane = b.lane(rank);
    if (!last) lane.publish(data);
    lane.loop(chunks);
    if (!first) lane.wait(before, b.view_flag(data), this_iteration());
    if (last) {
      lane.copy(chunks, own_recv(), seen(data, before));
    } else {
      lane.wait(after, read, iteration_before(depth), if_staged(data));
      if (first) {
        lane.copy(chunks, seen(data, rank), own_recv(), if_staged(data));
      } else {
        lane.copy2(chunks, own_recv(), seen(data, rank), seen(data, before), if_staged(data));
        lane.copy(chunks, own_recv(), seen(data, before), if_direct(data));
      }
    }
    if (!first) lane.post(read, this_iteration());
    if (!last) lane.post(b.view_flag(data), this_iteration());
    lane.end();
    if (!last) lane.wait(after, read, all_iterations(chunks), if_direct(data));
  }
  return b.finish();
}

// Each of `ranks` ranks reduces its own block of every chunk from all, then gathers the blocks of the others. Slots
// need no flag that frees them: a rank that announces a result has read all inputs, and a rank that announces an input
// has read all earlier results.
inline Plan block_allreduce(int ranks, uint32_t chunk_bytes, uint16_t depth = 2) {
  Builder b(Collective::allreduce, "blocks", ranks, 0);
  uint16_t in = b.view(Buffer::send, chunk_bytes, depth);
  uint16_t out = b.view(Buffer::recv, chunk_bytes, depth);
  uint16_t done = b.flag();
  uint16_t chunks = b.range({.chunk_bytes = chunk_bytes});
  auto block = [&](int of) {
    return b.range({.sub = uint16_t(of), .subs = uint16_t(ranks), .chunk_bytes = chunk_bytes});
  };
  for (int rank : b.ranks()) {
    std::vector<int> peers;
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank) peers.push_back(peer);
    std::vector<Operand> inputs;
    for (int peer = 0; peer < ranks; ++peer) inputs.push_back(seen(in, peer));
    Operand both[] = {own_recv(), seen(out, rank)};

    auto lane = b.lane(rank);
    lane.publish(in).publish(out).loop(chunks);
    lane.copy(chunks, seen(in, rank), own_send(), if_staged(in)).post(b.view_flag(in), this_iteration());
    for (int peer : peers) lane.wait(peer, b.view_flag(in), this_iteration());
    lane.reduce(block(rank), {both, 1}, inputs, if_direct(out)).reduce(block(rank), {both, 2}, inputs, if_staged(out));
    lane.post(b.view_flag(out), this_iteration());
    for (int peer : peers)
      lane.wait(peer, b.view_flag(out), this_iteration()).copy(block(peer), own_recv(), seen(out, peer));
    lane.end().post(done, constant(1));
    for (int peer : peers) lane.wait(peer, done, constant(1));
  }
  return b.finish();
}

// In round i, a rank posts to the rank 2^i after it and waits for the rank 2^i before it.
inline Plan dissemination(int ranks) {
  Builder b(Collective::barrier, "dissemination", ranks, 0);
  uint16_t arrived = b.flag();
  for (int rank : b.ranks()) {
    auto lane = b.lane(rank);
    int round = 1;
    for (int distance = 1; distance < ranks; distance *= 2, ++round)
      lane.post(arrived, constant(round)).wait((rank + ranks - distance) % ranks, arrived, constant(round));
  }
  b.synchronizing();
  return b.finish();
}

// Two lanes: one folds the chunks down the chain of ranks (staging only), the other passes the result back up.
inline Plan two_lane_allreduce(int ranks, uint32_t chunk_bytes, uint16_t depth = 2) {
  Builder b(Collective::allreduce, "two_lanes", ranks, 0);
  uint16_t partial = b.view(Buffer::none, chunk_bytes, depth);
  uint16_t result = b.view(Buffer::none, chunk_bytes, depth);
  uint16_t folded = b.flag(), taken = b.flag(), ready = b.flag(), read = b.flag();
  uint16_t chunks = b.range({.chunk_bytes = chunk_bytes});
  if (ranks > 3) b.unbalanced();
  for (int rank : b.ranks()) {
    bool first = rank == 0, last = rank == ranks - 1;
    auto up = b.lane(rank);
    up.loop(chunks);
    if (!first) up.wait(rank - 1, folded, this_iteration());
    if (!last) up.wait(rank + 1, taken, iteration_before(depth));
    Operand from[] = {seen(partial, first ? rank : rank - 1), own_send()};
    // The fold of the last rank is the result; it must not overtake the lane that distributes results.
    if (last) up.wait(rank - 1, read, iteration_before(depth));
    Operand to[] = {seen(last ? result : partial, rank)};
    if (first) {
      up.copy(chunks, to[0], own_send());
    } else {
      up.reduce(chunks, to, from);
      up.post(taken, this_iteration());
    }
    up.post(folded, this_iteration()).end();

    auto down = b.lane(rank);
    down.loop(chunks);
    if (last) {
      down.wait(rank, folded, this_iteration()).copy(chunks, own_recv(), seen(result, rank));
    } else {
      down.wait(rank + 1, ready, this_iteration());
      // In place, the input of this chunk has been folded before the result arrives, because of the chain.
      if (!first) down.wait(rank - 1, read, iteration_before(depth));
      if (first) down.copy(chunks, own_recv(), seen(result, rank + 1));
      else down.copy2(chunks, own_recv(), seen(result, rank), seen(result, rank + 1));
      down.post(read, this_iteration());
    }
    if (!first) down.post(ready, this_iteration());
    down.end();
  }
  return b.finish();
}

}  // namespace coll::plan::testing
