// SPDX-License-Identifier: BSD-3-Clause
#include "algo/nodes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "algo/fold.h"

namespace coll::algo {

std::vector<Ranks> nodes_of(Ranks group, int ranks) {
  std::vector<Ranks> nodes;
  for (int first = group.first; first < group.end;) {
    int size = 1;
    while (size < ranks && first % (2 * size) == 0 && std::min(first + 2 * size, ranks) <= group.end) size *= 2;
    nodes.push_back({first, std::min(first + size, ranks)});
    first += size;
  }
  return nodes;
}

namespace {

class Fold {
 public:
  explicit Fold(std::span<const Ranks> operands) : operands_(operands) {}

  void add(Ranks node, int first, int end, int result, int free_box) {
    std::vector<Part> parts;
    for (int size = 1; parts.empty() || !has_shape_of(node, parts); size *= 2) parts = in_blocks(first, end, size);
    FoldStep step{.box = result, .sources = {}};
    for (const Part& part : parts) {
      if (part.end - part.first == 1) {
        step.sources.push_back(part.first);
        continue;
      }
      add(part.ranks, part.first, part.end, free_box, free_box);
      step.sources.push_back(~free_box++);
    }
    steps.push_back(std::move(step));
  }

  std::vector<FoldStep> steps;

 private:
  struct Part {
    Ranks ranks;
    int first, end;  // operands
  };

  // Joins operands inside one aligned block of `size` ranks to one part; larger operands stay as they are.
  std::vector<Part> in_blocks(int first, int end, int size) const {
    std::vector<Part> parts;
    for (int i = first; i < end; ++i) {
      const Ranks& ranks = operands_[size_t(i)];
      if (parts.empty() || parts.back().ranks.first / size != ranks.first / size) parts.push_back({ranks, i, i});
      parts.back().ranks.end = ranks.end;
      parts.back().end = i + 1;
    }
    return parts;
  }
  static bool has_shape_of(Ranks node, std::span<const Part> parts) {
    if (parts.size() == 1) return parts[0].ranks == node;
    if (node.count() == 1) return false;
    const size_t left = left_of_fold(parts.size());
    const int middle = node.first + int(left_of_fold(size_t(node.count())));
    return has_shape_of({node.first, middle}, parts.first(left)) &&
           has_shape_of({middle, node.end}, parts.subspan(left));
  }

  const std::span<const Ranks> operands_;
};

}  // namespace

std::vector<FoldStep> fold_steps(Ranks node, std::span<const Ranks> operands) {
  Fold fold(operands);
  fold.add(node, 0, int(operands.size()), -1, 0);
  return fold.steps;
}

int boxes_of(const std::vector<FoldStep>& steps) {
  int boxes = 0;
  for (const FoldStep& step : steps) boxes = std::max(boxes, step.box + 1);
  return boxes;
}

std::vector<std::vector<Ranks>> consecutive_levels(const topo::Hierarchy& hierarchy) {
  const topo::Tree tree = hierarchy.tree_for_root(0);
  std::vector<std::vector<Ranks>> levels;
  for (int level = 0; level < tree.levels(); ++level) {
    std::vector<Ranks> groups;
    bool consecutive = true;
    for (int rank = 0; rank < tree.ranks() && consecutive; ++rank) {
      // Groups are numbered by their lowest ranks.
      const int group = tree.group_index(rank, level);
      if (group == int(groups.size())) groups.push_back({rank, rank});
      consecutive = group + 1 == int(groups.size());
      groups.back().end = rank + 1;
    }
    if (consecutive) levels.push_back(std::move(groups));
  }
  return levels;
}

namespace {

// Returns the multiple of the largest power of two that is at most `most` away from `border`.
int aligned(int border, int most) {
  int best = border;
  for (int size = 2;; size *= 2) {
    const int below = border / size * size, near = border - below <= size / 2 ? below : below + size;
    if (std::abs(near - border) > most) return best;
    best = near;
  }
}

// Moves the borders of the innermost groups, by at most a third of the smaller group, to multiples of larger powers of
// two, so that the groups consist of fewer nodes; the borders of outer groups move with them.
std::vector<std::vector<Ranks>> with_aligned_borders(std::vector<std::vector<Ranks>> levels) {
  const std::vector<Ranks> inner = levels[0];
  std::vector<int> moved(size_t(inner.back().end) + 1);
  moved.back() = inner.back().end;
  for (size_t group = 1; group < inner.size(); ++group) {
    const int border = inner[group].first;
    moved[size_t(border)] = aligned(border, std::min(inner[group - 1].count(), inner[group].count()) / 3);
  }
  for (auto& groups : levels)
    for (Ranks& ranks : groups) ranks = {moved[size_t(ranks.first)], moved[size_t(ranks.end)]};
  return levels;
}

}  // namespace

Partials::Partials(const topo::Hierarchy& hierarchy, int root)
    : root_(root),
      groups_(with_aligned_borders(consecutive_levels(hierarchy))),
      made_by_(size_t(hierarchy.ranks())),
      used_(size_t(hierarchy.ranks())) {
  std::vector<int> shown;  // inputs and partial results after a level, in rank order
  for (int rank = 0; rank < hierarchy.ranks(); ++rank) {
    Partial input;
    input.ranks = {rank, rank + 1};
    input.leader = rank;
    all_.push_back(std::move(input));
    shown.push_back(rank);
  }
  for (int level = 0; level < levels(); ++level) {
    made_in_.emplace_back(size_t(groups(level)));
    std::vector<int> forwarded;
    size_t next = 0;
    for (int group = 0; group < groups(level); ++group) {
      const std::vector<Ranks> nodes = nodes_of(groups_[size_t(level)][size_t(group)], hierarchy.ranks());
      groups_are_nodes_ = groups_are_nodes_ && nodes.size() == 1;
      for (const Ranks& node : nodes) {
        std::vector<int> inside;
        while (next < shown.size() && node.contains((*this)[shown[next]].ranks)) inside.push_back(shown[next++]);
        if (inside.size() == 1) {
          forwarded.push_back(inside[0]);
          continue;
        }
        forwarded.push_back(int(all_.size()));
        make(node, level, group, std::move(inside));
      }
    }
    shown = std::move(forwarded);
  }
}

void Partials::make(Ranks node, int level, int group, std::vector<int> sources) {
  const int index = int(all_.size());
  Partial made;
  made.ranks = node;
  made.level = level;
  made.group = group;
  made.leader = leader(level, group);
  std::vector<Ranks> operands;
  for (int source : sources) {
    all_[size_t(source)].into = index;
    operands.push_back((*this)[source].ranks);
  }
  made.sources = std::move(sources);
  made.steps = fold_steps(node, operands);
  made.block = choose_block(made);
  boxes_ = std::max(boxes_, boxes_of(made.steps));
  made_in_[size_t(level)][size_t(group)].push_back(index);
  made_by_[size_t(made.leader)].push_back(index);
  all_.push_back(std::move(made));
}

// Reuses the block of one of its sources if the leader has one there.
int Partials::choose_block(const Partial& partial) {
  if (partial.leader == root_ && partial.ranks.contains(root_)) return -1;
  for (int source : partial.sources)
    if ((*this)[source].leader == partial.leader && (*this)[source].block >= 0) return (*this)[source].block;
  const int block = used_[size_t(partial.leader)]++;
  blocks_ = std::max(blocks_, block + 1);
  return block;
}

int Partials::group_of(int rank, int level) const {
  const auto& groups = groups_[size_t(level)];
  return int(std::ranges::upper_bound(groups, rank, {}, &Ranks::first) - groups.begin()) - 1;
}

int Partials::leader(int level, int group) const {
  const Ranks& ranks = groups_[size_t(level)][size_t(group)];
  return ranks.contains(root_) ? root_ : ranks.first;
}

std::vector<int> Partials::members(int level, int group) const {
  const Ranks& ranks = groups_[size_t(level)][size_t(group)];
  std::vector<int> members;
  if (level == 0) {
    for (int rank = ranks.first; rank < ranks.end; ++rank) members.push_back(rank);
  } else {
    for (int inner = group_of(ranks.first, level - 1); inner <= group_of(ranks.end - 1, level - 1); ++inner)
      members.push_back(leader(level - 1, inner));
  }
  return members;
}

}  // namespace coll::algo
