// SPDX-License-Identifier: BSD-3-Clause
// Data that flows down a tree, chunk by chunk: every holder makes a chunk visible to its children, they copy it and are
// holders themselves. All tree broadcasts are made of this, and so is the second half of a hierarchical allreduce.
#pragma once

#include <vector>

#include "algo/common.h"

namespace coll::algo {

// A rank's place in the tree.
struct Node {
  int parent = -1;
  int round = 0;                         // in which of its parent's rounds it is served
  std::vector<std::vector<int>> rounds;  // its children; those of one round read at the same time
  bool leaf() const { return rounds.empty(); }
};

class Downward {
 public:
  // `buffer` is where the holders have the data; `rounds` the most rounds that any holder has.
  Downward(Builder& b, Buffer buffer, Ring ring, int rounds = 1);

  const Window& data() const { return data_; }
  uint16_t chunks() const { return chunks_; }

  // The root of a broadcast, whose data is complete.
  void send_all(LaneBuilder& lane, int rank, const Node& node);
  // Everybody else: receive, keep, pass on.
  void receive(LaneBuilder& lane, int rank, const Node& node);

  // For a root that makes its data itself. Before the loop: publish(). In the loop: await_slot(), write to
  // data().of(rank) when staged, offer(). After it: retire().
  void publish(LaneBuilder& lane) const { data_.publish(lane); }
  void await_slot(LaneBuilder& lane, const Node& node) const;
  void offer(LaneBuilder& lane, const Node& node) const;
  void retire(LaneBuilder& lane, const Node& node) const;

 private:
  uint16_t round_flag(int round) const { return round == 0 ? data_.flag : later_rounds_[size_t(round) - 1]; }

  Ring ring_;
  Window data_;
  uint16_t taken_;   // "I have copied this pass"
  uint16_t chunks_;
  std::vector<uint16_t> later_rounds_;
};

}  // namespace coll::algo
