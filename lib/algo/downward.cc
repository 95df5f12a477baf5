// SPDX-License-Identifier: BSD-3-Clause
#include "algo/downward.h"

namespace coll::algo {

Downward::Downward(Builder& b, Buffer buffer, Ring ring, int rounds)
    : ring_(ring), data_(b, buffer, ring), taken_(b.flag()), chunks_(b.range({.chunk_bytes = ring.chunk_bytes})) {
  for (int round = 1; round < rounds; ++round) later_rounds_.push_back(b.flag());
}

// With one round a chunk may be offered while earlier ones are still being read, as far as the ring goes. With several,
// the last round of a pass must be over before the first round of the next may start, or more than one round would read.
void Downward::await_slot(LaneBuilder& lane, const Node& node) const {
  if (node.leaf()) return;
  if (node.rounds.size() == 1)
    wait_each(lane, node.rounds[0], taken_, pass_before(ring_.depth), data_.staged());
  else
    wait_each(lane, node.rounds.back(), taken_, pass_before(1));
}

void Downward::offer(LaneBuilder& lane, const Node& node) const {
  for (size_t round = 0; round < node.rounds.size(); ++round) {
    if (round > 0) wait_each(lane, node.rounds[round - 1], taken_, this_pass());
    lane.post(round_flag(int(round)), this_pass());
  }
}

void Downward::retire(LaneBuilder& lane, const Node& node) const {
  if (node.leaf() || data_.plain) return;
  wait_each(lane, node.rounds.back(), taken_, all_passes(chunks_), data_.direct());
}

void Downward::send_all(LaneBuilder& lane, int rank, const Node& node) {
  if (node.leaf()) return;
  if (node.rounds.size() == 1) {
    data_.announce(lane, chunks_);
    lane.loop(chunks_);
    await_slot(lane, node);
    lane.copy(chunks_, data_.of(rank), own_send(), data_.staged());
    lane.post(data_.flag, this_pass(), data_.staged());
  } else {
    publish(lane);
    lane.loop(chunks_);
    await_slot(lane, node);
    lane.copy(chunks_, data_.of(rank), own_send(), data_.staged());
    offer(lane, node);
  }
  lane.end();
  retire(lane, node);
}

void Downward::receive(LaneBuilder& lane, int rank, const Node& node) {
  // The line of data_.flag tells how the parent's view is seen; a later round's flag does not.
  if (node.round > 0) lane.wait(node.parent, data_.flag, constant(1));
  if (!node.leaf()) publish(lane);
  lane.loop(chunks_);
  lane.wait(node.parent, round_flag(node.round), this_pass());
  if (node.leaf()) {
    lane.copy(chunks_, own_recv(), data_.of(node.parent), {}, false);
  } else {
    await_slot(lane, node);
    lane.copy2(chunks_, own_recv(), data_.of(rank), data_.of(node.parent), data_.staged());
    if (!data_.plain) lane.copy(chunks_, own_recv(), data_.of(node.parent), data_.direct());
  }
  lane.post(taken_, this_pass());
  offer(lane, node);
  lane.end();
  retire(lane, node);
}

}  // namespace coll::algo
