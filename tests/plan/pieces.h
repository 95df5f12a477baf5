// SPDX-License-Identifier: BSD-3-Clause
// Small plans of collectives of blocks, all correct; tests plant faults in them.
#pragma once

#include <numeric>
#include <vector>

#include "plan/builder.h"
#include "plan/plan.h"

namespace coll::plan::testing {

// The range of block (sender, receiver).
inline Range piece(int sender, int receiver, uint32_t chunk_bytes) {
  return {.chunk_bytes = chunk_bytes, .sender = uint16_t(sender), .receiver = uint16_t(receiver)};
}

// Every rank reads its block of the root's buffer; a staged root fills a slot with a block for every rank. A direct
// root admits `throttle` readers at a time (0: all), with tokens that a reader passes to the rank that many places
// after it.
inline Plan scatter(int ranks, int root, uint32_t chunk_bytes, bool irregular = false, int throttle = 0,
                    uint16_t depth = 2) {
  Builder b(Collective::scatter, "scatter", ranks, root, -1, irregular);
  b.direction(Direction::read);
  if (throttle > 0) b.throttle(throttle);
  const uint16_t data = b.view(Buffer::send, chunk_bytes, depth, uint16_t(ranks));
  const uint16_t taken = b.flag(), token = b.flag();
  std::vector<uint16_t> pieces;
  for (int rank = 0; rank < ranks; ++rank) pieces.push_back(b.range(piece(root, rank, chunk_bytes)));
  const uint16_t longest = b.range(piece(root, any_rank, chunk_bytes));
  const auto place = [&](int rank) { return (rank - root + ranks) % ranks; };
  for (int rank : b.ranks()) {
    auto lane = b.lane(rank);
    const uint16_t own = pieces[size_t(rank)];
    if (rank != root) {
      const int before = place(rank) - throttle;
      if (throttle > 0 && before >= 1) lane.wait((before + root) % ranks, token, constant(1));
      lane.loop(own)
          .wait(root, b.view_flag(data), this_iteration())
          .copy(own, own_recv(), seen(data, root, rank))
          .post(taken, this_iteration())
          .end()
          .post(token, constant(1));
      continue;
    }
    lane.publish(data).post(b.view_flag(data), all_iterations(longest), if_direct(data)).loop(longest);
    for (int reader = 0; reader < ranks; ++reader) {
      if (reader == root) continue;
      lane.wait(reader, taken, iteration_before_of(pieces[size_t(reader)], depth), if_staged(data));
      lane.copy(pieces[size_t(reader)], seen(data, root, reader), own_send(reader), if_staged(data));
    }
    lane.post(b.view_flag(data), this_iteration(), if_staged(data)).end();
    lane.copy(b.range(piece(root, root, 0)), own_recv(), own_send(root));
    for (int reader = 0; reader < ranks; ++reader)
      if (reader != root) lane.wait(reader, token, constant(1), if_direct(data));
  }
  return b.finish();
}

// Every rank writes its block into the root's slots, and the root copies all of them at once.
inline Plan gather(int ranks, int root, uint32_t chunk_bytes, uint16_t depth = 2) {
  Builder b(Collective::gather, "gather", ranks, root);
  const uint16_t slots = b.view(Buffer::none, chunk_bytes, depth, uint16_t(ranks));
  const uint16_t there = b.flag(), taken = b.flag(), any = b.range(piece(any_rank, any_rank, chunk_bytes));
  for (int rank : b.ranks()) {
    auto lane = b.lane(rank);
    lane.loop(any).wait(root, taken, iteration_before(depth)).copy(any, seen(slots, root, rank), own_send());
    lane.post(there, this_iteration());
    for (int other = 0; other < ranks && rank == root; ++other) lane.wait(other, there, this_iteration());
    if (rank == root) lane.copy_blocks(ranks, any, own_recv(0), seen(slots, root, 0)).post(taken, this_iteration());
    lane.end();
  }
  return b.finish();
}

// In step i every rank reads from the rank i places after it, which no other rank reads from in that step.
inline Plan alltoall(int ranks, uint32_t chunk_bytes, bool irregular = false, uint16_t depth = 2) {
  Builder b(Collective::alltoall, "rotated", ranks, 0, -1, irregular);
  b.direction(Direction::read);
  b.one_reader();
  const uint16_t data = b.view(Buffer::send, chunk_bytes, depth, uint16_t(ranks));
  std::vector<uint16_t> taken(size_t(ranks), 0);  // by sender
  for (uint16_t& flag : taken) flag = b.flag();
  const auto of = [&](int s, int r) { return b.range(piece(s, r, chunk_bytes)); };
  for (int rank : b.ranks()) {
    const uint16_t longest = of(rank, any_rank);
    auto supply = b.lane(rank);
    supply.publish(data).post(b.view_flag(data), all_iterations(longest), if_direct(data)).loop(longest);
    for (int r = 0; r < ranks; ++r) {
      if (r == rank) continue;
      supply.wait(r, taken[size_t(rank)], iteration_before_of(of(rank, r), depth), if_staged(data));
      supply.copy(of(rank, r), seen(data, rank, r), own_send(r), if_staged(data));
    }
    supply.post(b.view_flag(data), this_iteration(), if_staged(data)).end();
    for (int r = 0; r < ranks; ++r)
      if (r != rank) supply.wait(r, taken[size_t(rank)], all_iterations(of(rank, r)), if_direct(data));

    // A staged sender waits until every reader has copied the next chunk: it has a lane for each.
    for (int turn = 1; turn < ranks; ++turn) {
      const int s = (rank + turn) % ranks;
      b.lane(rank)
          .loop(of(s, rank))
          .wait(s, b.view_flag(data), this_iteration())
          .copy(of(s, rank), own_recv(s), seen(data, s, rank))
          .post(taken[size_t(s)], this_iteration())
          .end();
    }
    b.lane(rank).copy(b.range(piece(rank, rank, 0)), own_recv(rank), own_send(rank));
  }
  return b.finish();
}

// All ranks read the whole buffers of all ranks.
inline Plan allgather(int ranks, bool irregular = false) {
  Builder b(Collective::allgather, "read_all", ranks, 0, -1, irregular);
  const uint16_t data = b.view(Buffer::send, 64 * 64, 1), read = b.flag();
  for (int rank : b.ranks()) {
    auto lane = b.lane(rank);
    const auto all = [&](int s) { return b.range(piece(s, any_rank, 0)); };
    lane.publish(data)
        .copy(all(rank), seen(data, rank), own_send(), if_staged(data))
        .post(b.view_flag(data), constant(1));
    for (int s = 0; s < ranks; ++s) {
      if (s != rank) lane.wait(s, b.view_flag(data), constant(1));
      lane.copy(all(s), own_recv(s), seen(data, s));
    }
    lane.post(read, constant(1));
    for (int r = 0; r < ranks; ++r)
      if (r != rank) lane.wait(r, read, constant(1), if_direct(data));
  }
  return b.finish();
}

// The sum over the lower ranks, with the own input (scan) or without (exscan), directly from their buffers.
inline Plan prefix(Collective what, int ranks) {
  Builder b(what, "prefix", ranks, 0);
  const uint16_t data = b.view(Buffer::none, 64 * 64, 1);
  const uint16_t whole = b.range({});
  for (int rank : b.ranks()) {
    auto lane = b.lane(rank);
    std::vector<Operand> sources;
    lane.copy(whole, seen(data, rank), own_send()).post(b.view_flag(data), constant(1));
    for (int below = 0; below < rank; ++below) {
      lane.wait(below, b.view_flag(data), constant(1));
      sources.push_back(seen(data, below));
    }
    if (what == Collective::scan) sources.push_back(seen(data, rank));
    const Operand to[] = {own_recv()};
    if (!sources.empty()) lane.reduce(whole, to, sources);
  }
  return b.finish();
}

// Each rank reduces its block of all vectors.
inline Plan reduce_scatter(int ranks, bool irregular = false) {
  Builder b(Collective::reduce_scatter, "direct", ranks, 0, -1, irregular);
  const uint16_t data = b.view(Buffer::send, 64 * 64, 1, uint16_t(ranks)), read = b.flag();
  for (int rank : b.ranks()) {
    auto lane = b.lane(rank);
    lane.publish(data);
    for (int r = 0; r < ranks; ++r)
      lane.copy(b.range(piece(any_rank, r, 0)), seen(data, rank, r), own_send(r), if_staged(data));
    lane.post(b.view_flag(data), constant(1));
    std::vector<Operand> sources;
    for (int s = 0; s < ranks; ++s) {
      if (s != rank) lane.wait(s, b.view_flag(data), constant(1));
      sources.push_back(seen(data, s, rank));
    }
    const Operand to[] = {own_recv()};
    lane.reduce(b.range(piece(any_rank, rank, 0)), to, sources).post(read, constant(1));
    for (int r = 0; r < ranks; ++r)
      if (r != rank) lane.wait(r, read, constant(1), if_direct(data));
  }
  return b.finish();
}

// Pseudo-random lengths from 0 to several chunks.
inline std::vector<size_t> lengths(size_t pieces) {
  std::vector<size_t> out(pieces);
  for (size_t i = 0; i < pieces; ++i) out[i] = (i * 7 + 3) % 11;
  return out;
}

}  // namespace coll::plan::testing
