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
  int pieces = 1;                        // it gets every chunk in so many pieces, a power of two
  int parent_pieces = 1;                 // and its parent offers it in so many: as many or more
  int offered_pieces = 1;                // in how many it offers a chunk itself; 1 with several rounds
  std::vector<std::vector<int>> rounds;  // its children; those of one round read at the same time
  bool leaf() const { return rounds.empty(); }
};

class Downward {
 public:
  // `buffer` is where the holders have the data; `rounds` and `pieces` the most that any holder has.
  Downward(Builder& b, Buffer buffer, Ring ring, int rounds = 1, int pieces = 1);

  const Window& data() const { return data_; }
  uint16_t chunks() const { return chunks_; }

  // The root of a broadcast, whose data is complete.
  void send_all(LaneBuilder& lane, int rank, const Node& node);
  // Everybody else: receive, keep, pass on.
  void receive(LaneBuilder& lane, int rank, const Node& node);

  // For a root (one round, one piece) that makes its data itself. Before the loop: publish(). In the loop: await_slot(), write to
  // data().of(rank) when staged, offer(). After it: retire().
  void publish(LaneBuilder& lane) const { data_.publish(lane); }
  void await_slot(LaneBuilder& lane, const Node& node) const;
  void offer(LaneBuilder& lane, const Node& node) const;
  void retire(LaneBuilder& lane, const Node& node) const;

 private:
  uint16_t round_flag(int round) const { return round == 0 ? data_.flag : later_rounds_[size_t(round) - 1]; }
  // Of a holder that offers `pieces`: the flag that says piece `index` of them is there.
  uint16_t piece_flag(int index, int pieces) const { return pieces == 1 ? data_.flag : piece_flags_[size_t(index)]; }
  uint16_t piece_range(int index, int pieces) const { return piece_ranges_[size_t(pieces - 1 + index)]; }
  void offer_pieces(LaneBuilder& lane, const Node& node, int piece, int pieces) const;

  Ring ring_;
  Window data_;
  uint16_t taken_;  // "I have copied this pass"
  uint16_t chunks_;
  std::vector<uint16_t> piece_flags_;   // none when all chunks are offered whole
  std::vector<uint16_t> piece_ranges_;  // a chunk in 1, 2, 4 ... pieces
  std::vector<uint16_t> later_rounds_;
};

}  // namespace coll::algo
