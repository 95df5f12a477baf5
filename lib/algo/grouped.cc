// SPDX-License-Identifier: BSD-3-Clause
// Short blocks of many ranks, in groups of at most topo::small_group. One rank handles the blocks of its group, its leader
// or, in an alltoall, the member that forwards them: other ranks wait for its flag alone, and copy the blocks of
// consecutive ranks at once. A scatter uses groups only for its flag. All data is staged: to learn where a peer's buffer
// is would take one more flag.
#include <algorithm>
#include <vector>

#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {

// Whether these groups differ from one group of all ranks. More ranks than a small group holds always form several.
bool has_small_groups(const PlanRequest& request) {
  return has_levels(request) || request.hierarchy->ranks() > topo::small_group;
}

namespace {

// `length` consecutive ranks from `rank` on that are also consecutive members of their group, from `index` on.
struct Stretch {
  int index, rank, length;
};

// The innermost groups of at most topo::small_group ranks.
class Groups {
 public:
  explicit Groups(const topo::Hierarchy& hierarchy) {
    const topo::Hierarchy small = topo::in_small_groups(hierarchy, topo::Counted::ranks);
    group_of_.resize(size_t(small.ranks()));
    index_of_.resize(size_t(small.ranks()));
    for (int group = 0; group < small.groups(0); ++group) {
      members_.push_back(small.ranks_of(0, group));
      for (size_t index = 0; index < members_.back().size(); ++index) {
        group_of_[size_t(members_.back()[index])] = group;
        index_of_[size_t(members_.back()[index])] = int(index);
      }
      largest_ = std::max(largest_, int(members_.back().size()));
    }
  }

  int count() const { return int(members_.size()); }
  int largest() const { return largest_; }
  int of(int rank) const { return group_of_[size_t(rank)]; }
  int index(int rank) const { return index_of_[size_t(rank)]; }
  const std::vector<int>& members(int group) const { return members_[size_t(group)]; }
  // The root leads its group.
  int leader(int group, int root) const { return of(root) == group ? root : members(group).front(); }
  // All groups, beginning with that of `rank`, so that not all ranks read from the same leader at once.
  std::vector<int> from(int rank) const {
    std::vector<int> all;
    for (int step = 0; step < count(); ++step) all.push_back((of(rank) + step) % count());
    return all;
  }
  // The members of a group except `but`; -1: all members.
  std::vector<Stretch> stretches(int group, int but = -1) const {
    std::vector<Stretch> made;
    for (int rank : members(group)) {
      if (rank == but) continue;
      if (made.empty() || made.back().rank + made.back().length != rank ||
          made.back().index + made.back().length != index(rank))
        made.push_back({index(rank), rank, 0});
      ++made.back().length;
    }
    return made;
  }

 private:
  std::vector<std::vector<int>> members_;
  std::vector<int> group_of_, index_of_;  // by rank
  int largest_ = 0;
};

// The common part of these plans. All pieces have the same length, so one range serves all of them.
class Grouped {
 protected:
  // `blocks` is the number of blocks of all slots of one iteration together.
  Grouped(const PlanRequest& request, Collective what, int blocks)
      : ranks_(request.hierarchy->ranks()),
        root_(request.root),
        ring_(ring_of_blocks(request, blocks)),
        b_(start(what, "grouped", request)),
        piece_(piece(b_, any_rank, any_rank, ring_.chunk_bytes)) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
  }

  StagedView slots(int blocks) { return StagedView(b_, Buffer::none, ring_, blocks); }
  Value slot_free() const { return iteration_before(ring_.depth); }

  const int ranks_, root_;
  const Ring ring_;
  Builder b_;
  const uint16_t piece_;
};

// ---- gather -------------------------------------------------------------------------------------------------

// Members write to their leader, leaders write the blocks of their groups to the root.
class Gather : Grouped {
 public:
  Gather(const PlanRequest& request, const Groups& groups)
      : Grouped(request, Collective::gather, request.hierarchy->ranks() + groups.largest()),
        groups_(groups),
        group_(slots(groups.largest())),
        all_(slots(ranks_)),
        emptied_(b_.flag()) {}

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      const int group = groups_.of(rank), leader = groups_.leader(group, root_);
      lane.loop(piece_);
      if (rank == root_) {
        lane.copy_result(piece_, own_recv(root_), own_send());
        for (int other : groups_.from(root_)) collect(lane, other);
      } else if (rank == leader) {
        lane.wait(root_, emptied_, slot_free());
        lane.copy(piece_, all_.of(root_, rank), own_send());
        wait_others(lane, groups_.members(group), rank, group_.flag, this_iteration());
        for (const Stretch& part : groups_.stretches(group, rank))
          lane.copy_blocks(part.length, piece_, all_.of(root_, part.rank), group_.of(rank, part.index));
        lane.post(all_.flag, this_iteration());
      } else {
        lane.wait(leader, emptied_, slot_free());
        lane.copy(piece_, group_.of(leader, groups_.index(rank)), own_send());
        lane.post(group_.flag, this_iteration());
      }
      if (rank == leader) lane.post(emptied_, this_iteration());
      lane.end();
    }
    return b_.finish();
  }

 private:
  void collect(LaneBuilder& lane, int group) const {
    const bool own = group == groups_.of(root_);
    if (own) wait_others(lane, groups_.members(group), root_, group_.flag, this_iteration());
    else lane.wait(groups_.leader(group, root_), all_.flag, this_iteration());
    for (const Stretch& part : groups_.stretches(group, root_))
      lane.copy_blocks(part.length, piece_, own_recv(part.rank),
                       own ? group_.of(root_, part.index) : all_.of(root_, part.rank));
  }

  const Groups& groups_;
  const StagedView group_, all_;  // of a leader, of the root: peers write to them and announce it with their own flags
  const uint16_t emptied_;        // the slots that peers write to are free again
};

// ---- scatter ------------------------------------------------------------------------------------------------

// The root stages all blocks at once. The flag that announces them goes down the tree of L3 caches; all ranks read the
// blocks themselves from the root's memory.
class Scatter : Grouped {
 public:
  explicit Scatter(const PlanRequest& request)
      : Grouped(request, Collective::scatter, request.hierarchy->ranks()), data_(slots(ranks_)), consumed_(b_.flag()) {}

  Plan make(const topo::Hierarchy& hierarchy) {
    const topo::Hierarchy small = topo::in_small_groups(hierarchy, topo::Counted::l3s);
    const topo::Tree tree = small.tree_for_root(root_);
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      lane.loop(piece_);
      if (rank == root_) {
        wait_each(lane, all_but(ranks_, root_), consumed_, slot_free());
        lane.copy_blocks(ranks_, piece_, data_.of(root_, 0), own_send(0));
        lane.post(data_.flag, this_iteration());
        lane.copy_result(piece_, own_recv(), own_send(root_));
      } else {
        lane.wait(tree.parent(rank), data_.flag, this_iteration());
        if (tree.levels_led(rank) > 0) lane.post(data_.flag, this_iteration());
        lane.copy_result(piece_, own_recv(), data_.of(root_, rank));
        lane.post(consumed_, this_iteration());
      }
      lane.end();
    }
    return b_.finish();
  }

 private:
  const StagedView data_;
  const uint16_t consumed_;
};

// ---- allgather ----------------------------------------------------------------------------------------------

// Members write to their leader, which packs the blocks of its group; every rank reads from every leader.
class Allgather : Grouped {
 public:
  Allgather(const PlanRequest& request, const Groups& groups)
      : Grouped(request, Collective::allgather, 2 * groups.largest()),
        groups_(groups),
        group_(slots(groups.largest())),
        packed_(slots(groups.largest())),
        consumed_(b_.flag()) {
    b_.synchronizing();
  }

  Plan make() {
    std::vector<int> leaders;
    for (int group = 0; group < groups_.count(); ++group) leaders.push_back(leader(group));
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      const int group = groups_.of(rank);
      const bool leads = rank == leader(group);
      lane.loop(piece_);
      if (leads) {
        lane.copy(piece_, group_.of(rank, groups_.index(rank)), own_send());
        wait_others(lane, groups_.members(group), rank, group_.flag, this_iteration());
        wait_each(lane, all_but(ranks_, rank), consumed_, slot_free());
        // Once they are packed, members may write their next blocks.
        lane.copy_blocks(int(groups_.members(group).size()), piece_, packed_.of(rank, 0), group_.of(rank, 0));
        lane.post(packed_.flag, this_iteration());
      } else {
        lane.wait(leader(group), packed_.flag, slot_free());
        lane.copy(piece_, group_.of(leader(group), groups_.index(rank)), own_send());
        lane.post(group_.flag, this_iteration());
      }
      for (int other : groups_.from(rank)) {
        if (leader(other) != rank) lane.wait(leader(other), packed_.flag, this_iteration());
        for (const Stretch& part : groups_.stretches(other))
          lane.copy_blocks(part.length, piece_, own_recv(part.rank), packed_.of(leader(other), part.index));
      }
      lane.post(consumed_, this_iteration()).end();
      // No rank may end before all have started, also if pieces are empty.
      if (leads) {
        wait_others(lane, groups_.members(group), rank, group_.flag, constant(1));
        lane.post(packed_.flag, all_iterations(piece_, 1));
      } else {
        lane.post(group_.flag, all_iterations(piece_, 1));
      }
      wait_others(lane, leaders, rank, packed_.flag, constant(1));
    }
    return b_.finish();
  }

 private:
  int leader(int group) const { return groups_.members(group).front(); }

  const Groups& groups_;
  const StagedView group_, packed_;  // of a leader; the members write to group_ and announce it with their own flags
  const uint16_t consumed_;
};

// ---- alltoall -----------------------------------------------------------------------------------------------

// In each group, the member with index i forwards the group's blocks for the ranks whose index in their own group is i,
// modulo the number of members of the forwarding group. It fetches the blocks from the members of its group, one copy
// each, sorts them, and each of those ranks then fetches its blocks from it, one copy per stretch.
class Alltoall : Grouped {
 public:
  using Targets = std::vector<std::vector<int>>;  // by rank: all ranks to which it forwards
  static Targets targets(const Groups& groups) {
    Targets made;
    for (int from = 0; from < groups.count(); ++from)
      for (int to = 0; to < groups.count(); ++to)
        for (int target : groups.members(to)) {
          const size_t by = size_t(forwarder(groups, from, target));
          if (made.size() <= by) made.resize(by + 1);
          made[by].push_back(target);
        }
    return made;
  }

  Alltoall(const PlanRequest& request, const Groups& groups, Targets all)
      : Grouped(request, Collective::alltoall, request.hierarchy->ranks() + 2 * most_blocks_forwarded(groups, all)),
        groups_(groups),
        row_(slots(ranks_)),
        fetched_(slots(most_blocks_forwarded(groups, all))),
        sorted_(slots(most_blocks_forwarded(groups, all))),
        consumed_(b_.flag()),
        targets_(std::move(all)) {
    b_.synchronizing();
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      const std::vector<int>& group = groups_.members(groups_.of(rank));
      lane.loop(piece_);
      wait_others(lane, group, rank, sorted_.flag, slot_free());
      int place = 0;
      for (int forwarder : group)
        for (int target : targets_of(forwarder)) lane.copy(piece_, row_.of(rank, place++), own_send(target));
      lane.post(row_.flag, this_iteration());
      fetch(lane, rank);
      wait_others(lane, targets_of(rank), rank, consumed_, slot_free());
      sort(lane, rank);
      lane.post(sorted_.flag, this_iteration());
      for (int other : groups_.from(rank)) copy_from_group(lane, rank, other);
      lane.post(consumed_, this_iteration()).end();
      // No rank may end before all have started, also if pieces are empty.
      lane.post(row_.flag, all_iterations(piece_, 1));
      wait_others(lane, group, rank, row_.flag, constant(1));
      lane.post(sorted_.flag, all_iterations(piece_, 1));
      for (int other : groups_.from(rank))
        if (forwarder(other, rank) != rank) lane.wait(forwarder(other, rank), sorted_.flag, constant(1));
    }
    return b_.finish();
  }

 private:
  // The member of a group that forwards to a rank.
  static int forwarder(const Groups& groups, int group, int target) {
    const std::vector<int>& members = groups.members(group);
    return members[size_t(groups.index(target)) % members.size()];
  }
  int forwarder(int group, int target) const { return forwarder(groups_, group, target); }
  static int most_blocks_forwarded(const Groups& groups, const Targets& targets) {
    size_t most = 0;
    for (int rank = 0; rank < int(targets.size()); ++rank)
      most = std::max(most, groups.members(groups.of(rank)).size() * targets[size_t(rank)].size());
    return int(most);
  }
  const std::vector<int>& targets_of(int rank) const { return targets_[size_t(rank)]; }

  // Copies from each member's row the blocks for this rank's targets.
  void fetch(LaneBuilder& lane, int rank) const {
    const std::vector<int>& group = groups_.members(groups_.of(rank));
    const int mine = int(targets_of(rank).size()), first = first_in_row(rank);
    for (int step = 1; step < int(group.size()); ++step) {
      const int source = group[size_t(groups_.index(rank) + step) % group.size()];
      lane.wait(source, row_.flag, this_iteration());
      lane.copy_blocks(mine, piece_, fetched_.of(rank, groups_.index(source) * mine), row_.of(source, first));
    }
  }
  // Sorts the blocks by target, then by source.
  void sort(LaneBuilder& lane, int rank) const {
    const std::vector<int>& group = groups_.members(groups_.of(rank));
    const int mine = int(targets_of(rank).size()), first = first_in_row(rank);
    for (int target = 0; target < mine; ++target)
      for (int source = 0; source < int(group.size()); ++source)
        lane.copy(
            piece_, sorted_.of(rank, target * int(group.size()) + source),
            group[size_t(source)] == rank ? row_.of(rank, first + target) : fetched_.of(rank, source * mine + target));
  }
  // Copies the blocks that a group has for the rank.
  void copy_from_group(LaneBuilder& lane, int rank, int group) const {
    const int from = forwarder(group, rank), size = int(groups_.members(group).size());
    const std::vector<int>& all = targets_of(from);
    const int place = int(std::ranges::find(all, rank) - all.begin());
    if (from != rank) lane.wait(from, sorted_.flag, this_iteration());
    for (const Stretch& part : groups_.stretches(group))
      lane.copy_blocks(part.length, piece_, own_recv(part.rank), sorted_.of(from, place * size + part.index));
  }
  int first_in_row(int forwarder) const {
    int first = 0;
    for (int rank : groups_.members(groups_.of(forwarder))) {
      if (rank == forwarder) break;
      first += int(targets_of(rank).size());
    }
    return first;
  }

  const Groups& groups_;
  const StagedView row_;      // the blocks that this rank has for others, ordered by forwarder
  const StagedView fetched_;  // the group's blocks for this rank's targets, by source
  const StagedView sorted_;   // the same blocks, by target
  const uint16_t consumed_;
  const Targets targets_;
};

}  // namespace

Plan grouped_gather(const PlanRequest& request) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::gather, "grouped", request);
  const Groups groups(*request.hierarchy);
  return Gather(request, groups).make();
}

Plan grouped_scatter(const PlanRequest& request) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::scatter, "grouped", request);
  return Scatter(request).make(*request.hierarchy);
}

Plan grouped_allgather(const PlanRequest& request) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::allgather, "grouped", request);
  const Groups groups(*request.hierarchy);
  return Allgather(request, groups).make();
}

Plan grouped_alltoall(const PlanRequest& request) {
  if (request.hierarchy->ranks() == 1) return alone(Collective::alltoall, "grouped", request);
  const Groups groups(*request.hierarchy);
  return Alltoall(request, groups, Alltoall::targets(groups)).make();
}

}  // namespace coll::algo
