// SPDX-License-Identifier: BSD-3-Clause
#include "algo/downward.h"

namespace coll::algo {

Downward::Downward(Builder& b, Buffer buffer, Ring ring, int rounds, int pieces)
    : ring_(ring), data_(b, buffer, ring), consumed_(b.flag()), chunks_(b.range({.chunk_bytes = ring.chunk_bytes})) {
  for (int round = 1; round < rounds; ++round) later_rounds_.push_back(b.flag());
  for (int piece = 0; pieces > 1 && piece < pieces; ++piece) piece_flags_.push_back(b.flag());
  // Larger slices are composed of the smallest ones, so that their borders agree.
  for (int in = 1; in <= pieces; in *= 2)
    for (int piece = 0, span = pieces / in; piece < in; ++piece)
      piece_ranges_.push_back(b.range({.sub = uint16_t(pieces == 1 ? 0 : piece * span),
                                       .subs = uint16_t(pieces),
                                       .span = uint16_t(span),
                                       .chunk_bytes = ring.chunk_bytes}));
}

// With one round, a holder may offer a chunk while its children still read earlier ones, up to the depth of the ring.
// With several rounds, the last round of an iteration must be complete before the first round of the next one starts;
// otherwise children of two rounds would read at the same time.
void Downward::await_slot(LaneBuilder& lane, const Node& node) const {
  if (node.leaf()) return;
  if (node.rounds.size() == 1)
    wait_each(lane, node.rounds[0], consumed_, iteration_before(ring_.depth), data_.staged());
  else wait_each(lane, node.rounds.back(), consumed_, iteration_before(1));
}

void Downward::offer(LaneBuilder& lane, const Node& node) const {
  for (size_t round = 0; round < node.rounds.size(); ++round) {
    if (round > 0) wait_each(lane, node.rounds[round - 1], consumed_, this_iteration());
    lane.post(round_flag(int(round)), this_iteration());
  }
}

// Slice `piece` of `pieces` has arrived: announces to the children the slices, in their size, that it completes.
void Downward::offer_pieces(LaneBuilder& lane, const Node& node, int piece, int pieces) const {
  const int before = piece * node.offered_pieces / pieces, after = (piece + 1) * node.offered_pieces / pieces;
  for (int offered = before; offered < after; ++offered)
    lane.post(piece_flag(offered, node.offered_pieces), this_iteration());
}

void Downward::retire(LaneBuilder& lane, const Node& node) const {
  if (node.leaf() || data_.plain) return;
  wait_each(lane, node.rounds.back(), consumed_, all_iterations(chunks_), data_.direct());
}

void Downward::send_all(LaneBuilder& lane, int rank, const Node& node) {
  if (node.leaf()) return;
  const int pieces = node.offered_pieces;
  publish(lane);
  if (pieces > 1) lane.post(data_.flag, constant(1));
  const bool at_once = node.rounds.size() == 1 && !data_.plain;  // direct data is complete: no chunks to count
  for (int piece = 0; at_once && piece < pieces; ++piece)
    lane.post(piece_flag(piece, pieces), all_iterations(chunks_), data_.direct());
  lane.loop(chunks_);
  await_slot(lane, node);
  if (node.rounds.size() > 1) {
    lane.copy(chunks_, data_.of(rank), own_send(), data_.staged());
    offer(lane, node);
  } else {
    for (int piece = 0; piece < pieces; ++piece) {
      lane.copy(piece_range(piece, pieces), data_.of(rank), own_send(), data_.staged());
      lane.post(piece_flag(piece, pieces), this_iteration(), data_.staged());
    }
  }
  lane.end();
  retire(lane, node);
}

void Downward::receive(LaneBuilder& lane, int rank, const Node& node) {
  // Only the line of data_.flag says how the parent's view is accessed; the flags of later rounds and of slices do not.
  if (node.round > 0 || node.parent_pieces > 1) lane.wait(node.parent, data_.flag, constant(1));
  if (!node.leaf()) {
    publish(lane);
    if (node.offered_pieces > 1) lane.post(data_.flag, constant(1));
  }
  lane.loop(chunks_);
  for (int piece = 0; piece < node.pieces; ++piece) {
    const int last = (piece + 1) * node.parent_pieces / node.pieces - 1;  // the last of the parent's slices in this one
    lane.wait(node.parent, node.round > 0 ? round_flag(node.round) : piece_flag(last, node.parent_pieces),
              this_iteration());
    const uint16_t range = piece_range(piece, node.pieces);
    if (node.leaf()) {
      lane.copy_result(range, own_recv(), data_.of(node.parent));
    } else {
      if (piece == 0) await_slot(lane, node);
      lane.copy2(range, own_recv(), data_.of(rank), data_.of(node.parent), data_.staged());
      if (!data_.plain) lane.copy(range, own_recv(), data_.of(node.parent), data_.direct());
    }
    if (piece + 1 == node.pieces) lane.post(consumed_, this_iteration());
    if (node.rounds.size() == 1) offer_pieces(lane, node, piece, node.pieces);
  }
  if (node.rounds.size() > 1) offer(lane, node);
  lane.end();
  retire(lane, node);
}

}  // namespace coll::algo
