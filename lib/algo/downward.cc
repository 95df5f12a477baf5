// SPDX-License-Identifier: BSD-3-Clause
#include "algo/downward.h"

namespace coll::algo {

Downward::Downward(Builder& b, Buffer buffer, Ring ring, int rounds, int slices)
    : ring_(ring), data_(b, buffer, ring), consumed_(b.flag()), chunks_(b.range({.chunk_bytes = ring.chunk_bytes})) {
  for (int round = 1; round < rounds; ++round) later_rounds_.push_back(b.flag());
  for (int slice = 0; slices > 1 && slice < slices; ++slice) slice_flags_.push_back(b.flag());
  // Larger slices are composed of the smallest ones, so that their borders agree.
  for (int in = 1; in <= slices; in *= 2)
    for (int slice = 0, span = slices / in; slice < in; ++slice)
      slice_ranges_.push_back(b.range({.sub = uint16_t(slices == 1 ? 0 : slice * span),
                                       .subs = uint16_t(slices),
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

// Slice `slice` of `slices` has arrived: announces to the children the slices, in their size, that it completes.
void Downward::offer_slices(LaneBuilder& lane, const Node& node, int slice, int slices) const {
  const int before = slice * node.offered_slices / slices, after = (slice + 1) * node.offered_slices / slices;
  for (int offered = before; offered < after; ++offered)
    lane.post(slice_flag(offered, node.offered_slices), this_iteration());
}

void Downward::retire(LaneBuilder& lane, const Node& node) const {
  if (node.leaf() || data_.plain) return;
  wait_each(lane, node.rounds.back(), consumed_, all_iterations(chunks_), data_.direct());
}

void Downward::send_all(LaneBuilder& lane, int rank, const Node& node) {
  if (node.leaf()) return;
  const int slices = node.offered_slices;
  publish(lane);
  if (slices > 1) lane.post(data_.flag, constant(1));
  const bool at_once = node.rounds.size() == 1 && !data_.plain;  // direct data is complete: no chunks to count
  for (int slice = 0; at_once && slice < slices; ++slice)
    lane.post(slice_flag(slice, slices), all_iterations(chunks_), data_.direct());
  lane.loop(chunks_);
  await_slot(lane, node);
  if (node.rounds.size() > 1) {
    lane.copy(chunks_, data_.of(rank), own_send(), data_.staged());
    offer(lane, node);
  } else {
    for (int slice = 0; slice < slices; ++slice) {
      lane.copy(slice_range(slice, slices), data_.of(rank), own_send(), data_.staged());
      lane.post(slice_flag(slice, slices), this_iteration(), data_.staged());
    }
  }
  lane.end();
  retire(lane, node);
}

void Downward::receive(LaneBuilder& lane, int rank, const Node& node) {
  // Only the line of data_.flag says how the parent's view is accessed; the flags of later rounds and of slices do not.
  if (node.round > 0 || node.parent_slices > 1) lane.wait(node.parent, data_.flag, constant(1));
  if (!node.leaf()) {
    publish(lane);
    if (node.offered_slices > 1) lane.post(data_.flag, constant(1));
  }
  lane.loop(chunks_);
  for (int slice = 0; slice < node.slices; ++slice) {
    const int last = (slice + 1) * node.parent_slices / node.slices - 1;  // the last of the parent's slices in this one
    lane.wait(node.parent, node.round > 0 ? round_flag(node.round) : slice_flag(last, node.parent_slices),
              this_iteration());
    const uint16_t range = slice_range(slice, node.slices);
    if (node.leaf()) {
      lane.copy_result(range, own_recv(), data_.of(node.parent));
    } else {
      if (slice == 0) await_slot(lane, node);
      lane.copy2(range, own_recv(), data_.of(rank), data_.of(node.parent), data_.staged());
      if (!data_.plain) lane.copy(range, own_recv(), data_.of(node.parent), data_.direct());
    }
    if (slice + 1 == node.slices) lane.post(consumed_, this_iteration());
    if (node.rounds.size() == 1) offer_slices(lane, node, slice, node.slices);
  }
  if (node.rounds.size() > 1) offer(lane, node);
  lane.end();
  retire(lane, node);
}

}  // namespace coll::algo
