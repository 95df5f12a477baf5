// SPDX-License-Identifier: BSD-3-Clause
// The nodes of the balanced order (Plan::balanced), and how a reduction up a hierarchy follows them.
//
// A node is a block [i, i + 2^k) of ranks, where i is a multiple of 2^k, truncated at the number of ranks. A group of
// consecutive ranks need not be a node: it is a sequence of nodes, at most about 2 log2 of its size, and passes one
// partial result per node to the next level. To reduce the number of nodes, Partials moves the border between two
// innermost groups a little, to a multiple of a larger power of two: the ranks in between count as members of the
// neighbouring group. This costs reads across the original border, and saves partial results that would cross it.
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

// Returns the largest nodes inside `group`, in order, for a total of `ranks` ranks.
std::vector<Ranks> nodes_of(Ranks group, int ranks);

// One step of the fold of a node from smaller nodes. The fold is a single step if the step's own fold has the shape of
// the tree; otherwise earlier steps fold the operands inside one smaller block first.
struct FoldStep {
  int box = -1;              // index of the box for the result; -1: it is the result of the node
  std::vector<int> sources;  // index of an operand, or ~index of a box
};
// REQUIRES: at least two operands, which are nodes in order and together make up `node`.
std::vector<FoldStep> fold_steps(Ranks node, std::span<const Ranks> operands);
// The number of boxes that the steps use.
int boxes_of(const std::vector<FoldStep>& steps);

// The ranks in blocks, level by level; the last level is one block. These are the levels of the hierarchy in which
// every group is a block of consecutive ranks; other levels are left out.
std::vector<std::vector<Ranks>> consecutive_levels(const topo::Hierarchy& hierarchy);

// An input, or a partial result that a group reduces from the inputs and partial results of its members.
struct Partial {
  Ranks ranks;
  int level = -1, group = 0;  // the group that makes it; level -1: an input
  int leader = 0;             // the rank whose memory holds it
  int into = -1;              // index of the partial result that it becomes part of; -1: it is the result of all ranks
  int block = -1;  // its block in the leader's memory; -1: an input, or a result that contains the root's own input
  std::vector<int> sources;     // the inputs and partial results that it is made of, in order
  std::vector<FoldStep> steps;  // the fold of the sources
  bool is_input() const { return level < 0; }
};

// All partial results of a reduction to `root` in the groups of consecutive_levels(), with moved borders. The root
// leads every group that contains it; every other group is led by its first rank.
class Partials {
 public:
  Partials(const topo::Hierarchy& hierarchy, int root);

  // The inputs by rank, then the partial results of the groups, level by level. The last one is the result of the
  // reduction.
  const Partial& operator[](int index) const { return all_[size_t(index)]; }
  const Partial& destination(int index) const { return (*this)[(*this)[index].into]; }
  int levels() const { return int(groups_.size()); }
  int groups(int level) const { return int(groups_[size_t(level)].size()); }
  int group_of(int rank, int level) const;
  int leader(int level, int group) const;
  // The leaders of the inner groups, in order; at level 0, all ranks of the group.
  std::vector<int> members(int level, int group) const;
  // Indices of the partial results that the group makes, in order; none if the group passes its members' results
  // unchanged.
  const std::vector<int>& made_in(int level, int group) const { return made_in_[size_t(level)][size_t(group)]; }
  // Indices of all partial results that a rank makes as a leader, by level.
  const std::vector<int>& made_by(int rank) const { return made_by_[size_t(rank)]; }
  int blocks() const { return blocks_; }  // maximum number of blocks that a leader uses
  int boxes() const { return boxes_; }    // maximum number of boxes that the steps of one partial result use
  // Whether every group is a node, and thus passes one partial result, which includes its leader's own input.
  bool groups_are_nodes() const { return groups_are_nodes_; }

 private:
  void make(Ranks node, int level, int group, std::vector<int> sources);
  int choose_block(const Partial& partial);

  const int root_;
  const std::vector<std::vector<Ranks>> groups_;  // by level
  std::vector<Partial> all_;
  std::vector<std::vector<std::vector<int>>> made_in_;  // [level][group]
  std::vector<std::vector<int>> made_by_;               // by rank, in order of levels
  std::vector<int> used_;                               // number of blocks used, by rank
  int blocks_ = 0, boxes_ = 0;
  bool groups_are_nodes_ = true;
};

}  // namespace coll::algo
