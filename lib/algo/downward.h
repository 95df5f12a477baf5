// SPDX-License-Identifier: BSD-3-Clause
// Data that flows down a tree, chunk by chunk: every holder offers a chunk to its children, which copy it and become
// holders themselves. All tree broadcasts consist of this, and so does the second half of a hierarchical allreduce.
#pragma once

#include <vector>

#include "algo/common.h"

namespace coll::algo {

// A rank's position in the tree.
struct Node {
  int parent = -1;
  int round = 0;                         // the round of its parent that serves it
  int slices = 1;                        // number of slices in which it copies every chunk, a power of two
  int parent_slices = 1;                 // number of slices in which its parent offers a chunk, at least `slices`
  int offered_slices = 1;                // number of slices in which it offers a chunk itself; 1 with several rounds
  std::vector<std::vector<int>> rounds;  // its children; those of one round read at the same time
  bool leaf() const { return rounds.empty(); }
};

class Downward {
 public:
  // `buffer` is the buffer that holds the data on the holders; `rounds` and `slices` are the maxima over all holders.
  Downward(Builder& b, Buffer buffer, Ring ring, int rounds = 1, int slices = 1);

  const StagedView& data() const { return data_; }
  uint16_t chunks() const { return chunks_; }

  // The program of a broadcast's root, whose data is complete at the start.
  void send_all(LaneBuilder& lane, int rank, const Node& node);
  // The program of all other ranks: they copy each chunk and offer it to their children.
  void receive(LaneBuilder& lane, int rank, const Node& node);

  // For a root (one round, one slice per chunk) that makes its data itself. It calls publish() before the loop;
  // await_slot() in the loop, then it writes to data().of(rank) if staged, then offer(); retire() after the loop.
  void publish(LaneBuilder& lane) const { data_.publish(lane); }
  void await_slot(LaneBuilder& lane, const Node& node) const;
  void offer(LaneBuilder& lane, const Node& node) const;
  void retire(LaneBuilder& lane, const Node& node) const;

 private:
  uint16_t round_flag(int round) const { return round == 0 ? data_.flag : later_rounds_[size_t(round) - 1]; }
  // The flag by which a holder that offers `slices` slices announces slice `index`.
  uint16_t slice_flag(int index, int slices) const { return slices == 1 ? data_.flag : slice_flags_[size_t(index)]; }
  uint16_t slice_range(int index, int slices) const { return slice_ranges_[size_t(slices - 1 + index)]; }
  void offer_slices(LaneBuilder& lane, const Node& node, int slice, int slices) const;

  Ring ring_;
  StagedView data_;
  uint16_t consumed_;  // the rank has copied this iteration's chunk
  uint16_t chunks_;
  std::vector<uint16_t> slice_flags_;   // empty if all holders offer whole chunks
  std::vector<uint16_t> slice_ranges_;  // the slices of a chunk in 1, 2, 4 ... parts
  std::vector<uint16_t> later_rounds_;
};

}  // namespace coll::algo
