// SPDX-License-Identifier: BSD-3-Clause
// The sockets of the socket-aware reductions: the outermost split of the hierarchy.
#pragma once

#include <algorithm>
#include <vector>

#include "topo/hierarchy.h"

namespace coll::algo {

// The position of each rank if every group cuts a vector into as many slices as the smallest group has members, and
// member `index` of each group owns slice `index`. In larger groups the last members own no slice.
struct Sockets {
  std::vector<std::vector<int>> groups;  // ranks ascending, groups by lowest rank
  std::vector<int> group_of, index_of;   // by rank
  int slices = 0;

  static Sockets one(int ranks) {
    Sockets made;
    made.groups.resize(1);
    for (int rank = 0; rank < ranks; ++rank) made.groups[0].push_back(rank);
    made.number();
    return made;
  }
  static Sockets of(const topo::Hierarchy& hierarchy) {
    if (hierarchy.is_flat()) return one(hierarchy.ranks());
    Sockets made;
    const int level = hierarchy.levels() - 2;
    for (int group = 0; group < hierarchy.groups(level); ++group)
      made.groups.push_back(hierarchy.ranks_of(level, group));
    made.number();
    return made;
  }

  // Splits groups with more than `members` ranks into parts of nearly equal size.
  Sockets at_most(int members) const {
    Sockets made;
    for (const auto& group : groups) {
      const size_t parts = (group.size() + size_t(members) - 1) / size_t(members);
      for (size_t part = 0; part < parts; ++part)
        made.groups.emplace_back(group.begin() + long(part * group.size() / parts),
                                 group.begin() + long((part + 1) * group.size() / parts));
    }
    made.number();
    return made;
  }

  int count() const { return int(groups.size()); }
  bool are_consecutive() const {
    return std::ranges::is_sorted(group_of);  // groups are numbered by lowest rank
  }
  const std::vector<int>& group(int rank) const { return groups[size_t(group_of[size_t(rank)])]; }
  int member(int group, int index) const { return groups[size_t(group)][size_t(index)]; }
  // Reduce-scatter: the slice that contains a rank's block.
  int slice_of(int rank) const { return index_of[size_t(rank)] % slices; }

 private:
  void number() {
    size_t ranks = 0, smallest = groups.front().size(), largest = 0;
    for (const auto& members : groups) {
      ranks += members.size();
      smallest = std::min(smallest, members.size());
      largest = std::max(largest, members.size());
    }
    slices = int(smallest);
    longest = int(largest);
    group_of.resize(ranks);
    index_of.resize(ranks);
    for (size_t group = 0; group < groups.size(); ++group)
      for (size_t index = 0; index < groups[group].size(); ++index) {
        group_of[size_t(groups[group][index])] = int(group);
        index_of[size_t(groups[group][index])] = int(index);
      }
  }

 public:
  int longest = 0;  // members of the largest group
};

}  // namespace coll::algo
