// SPDX-License-Identifier: BSD-3-Clause
// The nodes of the balanced order (Plan::balanced), and how a reduction up a hierarchy keeps to them.
//
// A node is a block [i, i + 2^k) of ranks, i a multiple of 2^k, cut off at the number of ranks. A group of consecutive
// ranks need not be one: it is a sequence of a few nodes, at most about 2 log2 of its size, and passes on one partial
// result for each. Where moving the border between two innermost groups a little makes fewer nodes, it is moved: the
// ranks in between count as their neighbours' group. That costs reads across the border, and saves partial results
// that would cross it.
#pragma once

#include <span>
#include <vector>

#include "topo/hierarchy.h"

namespace coll::algo {

// The ranks first .. end - 1.
struct Ranks {
  int first = 0, end = 0;
  int count() const { return end - first; }
  bool contains(int rank) const { return first <= rank && rank < end; }
  bool contains(const Ranks& other) const { return first <= other.first && other.end <= end; }
  friend bool operator==(const Ranks&, const Ranks&) = default;
};

// The largest nodes inside `group`, in order, where there are `ranks` ranks.
std::vector<Ranks> nodes_of(Ranks group, int ranks);

// The fold of a node from smaller ones, in one step when the step's own fold has the shape of the tree; else those that
// lie in one smaller block are folded first.
struct FoldStep {
  int box = -1;              // which box takes the result; -1: it is the result of the node
  std::vector<int> sources;  // the index of an operand, or ~box
};
// REQUIRES: at least two operands, nodes in order that together are `node`.
std::vector<FoldStep> fold_steps(Ranks node, std::span<const Ranks> operands);
// How many boxes the steps use.
int boxes_of(const std::vector<FoldStep>& steps);

// The ranks in blocks, level by level as a hierarchy has them, the last level one block: the levels of the hierarchy
// whose groups all are consecutive ranks. The others are left out.
std::vector<std::vector<Ranks>> consecutive_levels(const topo::Hierarchy& hierarchy);

// An input, or a partial result that the leader of a group makes from what the group's members have.
struct Partial {
  Ranks ranks;
  int level = -1, group = 0;    // of the group in which it is made; level -1: an input
  int leader = 0;               // in whose memory it is
  int into = -1;                // the one that it becomes part of; -1: the result of all ranks
  int block = -1;               // where the leader keeps it; -1: an input, or what the root has with its own input
  std::vector<int> sources;     // what it is made of, in order
  std::vector<FoldStep> steps;  // and how
  bool is_input() const { return level < 0; }
};

// All of a reduction to `root` in the groups of consecutive_levels(), with their borders moved. The root leads every
// group that it is in; other groups are led by their first rank.
class Partials {
 public:
  Partials(const topo::Hierarchy& hierarchy, int root);

  // The inputs by rank, then the partial results of the groups, level by level. The last one is the result.
  const Partial& operator[](int index) const { return all_[size_t(index)]; }
  const Partial& destination(int index) const { return (*this)[(*this)[index].into]; }
  int levels() const { return int(groups_.size()); }
  int groups(int level) const { return int(groups_[size_t(level)].size()); }
  int group_of(int rank, int level) const;
  int leader(int level, int group) const;
  // The leaders of the groups inside, at level 0 all ranks of the group; in order.
  std::vector<int> members(int level, int group) const;
  // The partial results that are made there, in order; none when the group passes on what its members have.
  const std::vector<int>& made_in(int level, int group) const { return made_in_[size_t(level)][size_t(group)]; }
  // All that a rank makes as a leader, by level.
  const std::vector<int>& made_by(int rank) const { return made_by_[size_t(rank)]; }
  int blocks() const { return blocks_; }  // the most that a leader uses
  int boxes() const { return boxes_; }    // the most that the steps of a partial result use
  // Every group is a node: it passes on one partial result, in which its leader's own input is.
  bool groups_are_nodes() const { return groups_are_nodes_; }

 private:
  void make(Ranks node, int level, int group, std::vector<int> sources);
  int choose_block(const Partial& partial);

  const int root_;
  const std::vector<std::vector<Ranks>> groups_;  // by level
  std::vector<Partial> all_;
  std::vector<std::vector<std::vector<int>>> made_in_;  // by level and group
  std::vector<std::vector<int>> made_by_;               // by rank
  std::vector<int> used_;                               // blocks, by rank
  int blocks_ = 0, boxes_ = 0;
  bool groups_are_nodes_ = true;
};

}  // namespace coll::algo
