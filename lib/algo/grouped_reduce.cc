// SPDX-License-Identifier: BSD-3-Clause
// Reductions of short vectors among many ranks, in groups of 16 consecutive ranks; the last group may be smaller. The
// groups are nodes of the balanced order, so one step reduces the inputs of a group, and another the partial results of
// all groups. A rank waits once per member of its group and once per group instead of once per rank. All data is
// staged, because publishing the location of a buffer would cost a hop. Members write to the rank that reduces, whose
// steps then read its own memory: each access to another rank's memory takes time, and the writers' accesses overlap.
//
//   reduce          the first rank of a group, the leader, reduces the group's inputs; the root does so for its own
//                   group, and then reduces the partial results
//   allreduce       leaders do the same; then every leader reduces the partial results of all groups, and its members
//                   copy the result
//   reduce_scatter  each member of a group reduces a nearly equal share of the blocks
//   scan, exscan    the leader reduces the inputs up to each member; a rank reduces the partial results of the groups
//                   before its own and the result of its leader for it
#include <algorithm>
#include <vector>

#include "algo/common.h"
#include "algo/families.h"
#include "algo/fold.h"

namespace coll::algo {

bool exceeds_a_group(const PlanRequest& request) { return request.hierarchy->ranks() > topo::small_group; }

namespace {

class AlignedGroups {
 public:
  explicit AlignedGroups(int ranks) : ranks_(ranks) {}
  int count() const { return (ranks_ + size - 1) / size; }
  int of(int rank) const { return rank / size; }
  int first(int group) const { return group * size; }
  int members_of(int group) const { return std::min(size, ranks_ - first(group)); }
  std::vector<int> members(int group) const {
    std::vector<int> all(size_t(members_of(group)));
    for (int& rank : all) rank = first(group) + int(&rank - all.data());
    return all;
  }

 private:
  static constexpr int size = topo::small_group;
  const int ranks_;
};
static_assert(std::has_single_bit(unsigned(topo::small_group)), "groups are nodes of the balanced order");

// The common part of the plans for vectors.
class Grouped {
 protected:
  // `blocks` is the number of blocks of all slots of one iteration together, without those of the inputs.
  Grouped(const PlanRequest& request, Collective what, int blocks)
      : ranks_(request.hierarchy->ranks()),
        root_(request.root),
        groups_(ranks_),
        ring_(ring_of_blocks(request, groups_.members_of(0) + blocks)),
        b_(start(what, "grouped", request)),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})),
        inputs_(b_, Buffer::none, ring_, groups_.members_of(0)) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
  }

  Value slot_free() const { return iteration_before(ring_.depth); }
  void give_input(LaneBuilder& lane, int rank, int leader) const {
    lane.copy(chunks_, inputs_.of(leader, rank - groups_.first(groups_.of(rank))), own_send());
    lane.post(inputs_.flag, this_iteration());
  }
  void await_inputs(LaneBuilder& lane, int leader) const {
    wait_others(lane, groups_.members(groups_.of(leader)), leader, inputs_.flag, this_iteration());
  }
  // The inputs of the first `number` members of the leader's group.
  std::vector<Operand> inputs(int leader, int number) const {
    std::vector<Operand> all;
    for (int index = 0, first = groups_.first(groups_.of(leader)); index < number; ++index)
      all.push_back(first + index == leader ? own_send() : inputs_.of(leader, index));
    return all;
  }
  std::vector<Operand> inputs(int leader) const { return inputs(leader, groups_.members_of(groups_.of(leader))); }

  const int ranks_, root_;
  const AlignedGroups groups_;
  const Ring ring_;
  Builder b_;
  const uint16_t chunks_;
  const StagedView inputs_;  // of a leader: the members of its group write to it
};

// ---- reduce -------------------------------------------------------------------------------------------------

class Reduce : Grouped {
 public:
  explicit Reduce(const PlanRequest& request)
      : Grouped(request, Collective::reduce, AlignedGroups(request.hierarchy->ranks()).count()),
        partials_(b_, Buffer::none, ring_, groups_.count()),
        emptied_(b_.flag()) {}

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      const int group = groups_.of(rank), reader = leader(group);
      lane.loop(chunks_);
      if (rank == reader) {
        await_inputs(lane, rank);
        if (rank != root_) lane.wait(root_, emptied_, slot_free());
        fold(lane, chunks_, partials_.of(root_, group), inputs(rank));
        if (rank == root_) reduce_partials(lane);
        else lane.post(partials_.flag, this_iteration());
        lane.post(emptied_, this_iteration());
      } else {
        lane.wait(reader, emptied_, slot_free());
        give_input(lane, rank, reader);
      }
      lane.end();
    }
    return b_.finish();
  }

 private:
  int leader(int group) const { return groups_.of(root_) == group ? root_ : groups_.first(group); }
  void reduce_partials(LaneBuilder& lane) const {
    std::vector<Operand> partials;
    for (int group = 0; group < groups_.count(); ++group) {
      if (leader(group) != root_) lane.wait(leader(group), partials_.flag, this_iteration());
      partials.push_back(partials_.of(root_, group));
    }
    fold(lane, chunks_, own_recv(), partials);
  }

  const StagedView partials_;  // of the root: the leaders write to it
  const uint16_t emptied_;     // the slots that other ranks write to are free again
};

// ---- allreduce ----------------------------------------------------------------------------------------------

class Allreduce : Grouped {
 public:
  explicit Allreduce(const PlanRequest& request)
      : Grouped(request, Collective::allreduce, 2),
        partial_(b_, Buffer::none, ring_),
        result_(b_, Buffer::none, ring_),
        consumed_(b_.flag()) {
    b_.synchronizing();
    for (int group = 0; group < groups_.count(); ++group) leaders_.push_back(groups_.first(group));
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      const int leader = groups_.first(groups_.of(rank));
      lane.loop(chunks_);
      if (rank == leader) {
        lead(lane, rank);
      } else {
        lane.wait(leader, partial_.flag, slot_free());
        give_input(lane, rank, leader);
        lane.wait(leader, result_.flag, this_iteration());
        lane.copy_result(chunks_, own_recv(), result_.of(leader)).post(consumed_, this_iteration());
      }
      lane.end();
    }
    return b_.finish();
  }

 private:
  void lead(LaneBuilder& lane, int rank) const {
    await_inputs(lane, rank);
    wait_others(lane, leaders_, rank, result_.flag, slot_free());
    fold(lane, chunks_, partial_.of(rank), inputs(rank));
    lane.post(partial_.flag, this_iteration());
    wait_others(lane, leaders_, rank, partial_.flag, this_iteration());
    wait_others(lane, groups_.members(groups_.of(rank)), rank, consumed_, slot_free());
    std::vector<Operand> partials;
    for (int leader : leaders_) partials.push_back(partial_.of(leader));
    const Operand to[] = {own_recv(), result_.of(rank)};
    if (partials.size() > 1) lane.reduce(chunks_, to, partials);
    else lane.copy2(chunks_, to[0], to[1], partials[0]);
    lane.post(result_.flag, this_iteration());
  }

  const StagedView partial_, result_;  // of a leader
  const uint16_t consumed_;
  std::vector<int> leaders_;
};

// ---- scan, exscan -------------------------------------------------------------------------------------------

class Scan : Grouped {
 public:
  Scan(const PlanRequest& request, Collective what)
      : Grouped(request, what, topo::small_group),
        inclusive_(what == Collective::scan),
        sums_(b_, Buffer::none, ring_, groups_.members_of(0)),
        consumed_(b_.flag()) {}

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      const int leader = groups_.first(groups_.of(rank));
      lane.loop(chunks_);
      if (rank == leader) {
        make_sums(lane, rank);
      } else {
        lane.wait(leader, sums_.flag, slot_free());
        give_input(lane, rank, leader);
      }
      combine_result(lane, rank);
      lane.post(consumed_, this_iteration()).end();
    }
    return b_.finish();
  }

 private:
  void make_sums(LaneBuilder& lane, int leader) const {
    const int members = groups_.members_of(groups_.of(leader)), end = leader + members;
    await_inputs(lane, leader);
    for (int reader = leader + 1; reader < (end < ranks_ ? ranks_ : end); ++reader)
      lane.wait(reader, consumed_, slot_free());
    for (int index = 0; index < members; ++index)
      if (is_read(leader, index)) fold(lane, chunks_, sums_.of(leader, index), inputs(leader, index + 1));
    lane.post(sums_.flag, this_iteration());
  }
  // Whether any rank reads the result of the first index + 1 members of a group.
  bool is_read(int leader, int index) const {
    const int members = groups_.members_of(groups_.of(leader));
    const bool last = index + 1 == members;
    if (last && leader + members < ranks_) return true;
    return inclusive_ ? index > 0 : !last;
  }

  void combine_result(LaneBuilder& lane, int rank) const {
    const int own = groups_.of(rank), leader = groups_.first(own), index = rank - leader - (inclusive_ ? 0 : 1);
    std::vector<Operand> sources;
    for (int group = 0; group < own; ++group) {
      lane.wait(groups_.first(group), sums_.flag, this_iteration());
      sources.push_back(sums_.of(groups_.first(group), groups_.members_of(group) - 1));
    }
    if (rank == leader) {
      if (inclusive_) sources.push_back(own_send());
    } else {
      lane.wait(leader, sums_.flag, this_iteration());
      sources.push_back(sums_.of(leader, index));
    }
    if (!sources.empty()) fold(lane, chunks_, own_recv(), sources);
  }

  const bool inclusive_;
  const StagedView sums_;  // of a leader: results of the first members of its group, by the index of the last of them
  const uint16_t consumed_;
};

// ---- reduce_scatter -----------------------------------------------------------------------------------------

// Member i of a group of s reduces the blocks of ranks [ceil(i p / s), ceil((i + 1) p / s)).
class ReduceScatter {
 public:
  explicit ReduceScatter(const PlanRequest& request)
      : ranks_(request.hierarchy->ranks()),
        groups_(ranks_),
        ring_(ring_of_blocks(request, inputs_of_all() + largest_share())),
        b_(start(Collective::reduce_scatter, "grouped", request)),
        piece_(piece(b_, any_rank, any_rank, ring_.chunk_bytes)),
        inputs_(b_, Buffer::none, ring_, inputs_of_all()),
        partials_(b_, Buffer::none, ring_, largest_share()),
        consumed_(b_.flag()) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    b_.synchronizing();
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      LaneBuilder lane = b_.lane(rank);
      const std::vector<int> members = groups_.members(groups_.of(rank));
      lane.loop(piece_);
      if (members.size() == 1) show_all(lane, rank);
      else reduce_share(lane, rank, members);
      std::vector<Operand> sources;
      for (int step = 0; step < groups_.count(); ++step) {
        const Source from = source((groups_.of(rank) + step) % groups_.count(), rank);
        if (from.rank != rank) lane.wait(from.rank, partials_.flag, this_iteration());
      }
      for (int group = 0; group < groups_.count(); ++group) sources.push_back(source(group, rank).data);
      fold(lane, piece_, own_recv(), sources);
      lane.post(consumed_, this_iteration()).end();
      // No rank may end before all have started, also if pieces are empty.
      lane.post(inputs_.flag, all_iterations(piece_, 1));
      wait_others(lane, members, rank, inputs_.flag, constant(1));
      lane.post(partials_.flag, all_iterations(piece_, 1));
      for (int group = 0; group < groups_.count(); ++group)
        if (const int from = source(group, rank).rank; from != rank) lane.wait(from, partials_.flag, constant(1));
    }
    return b_.finish();
  }

 private:
  int first_of_share(int index, int members) const { return (index * ranks_ + members - 1) / members; }
  int most_of_share(int members) const { return (ranks_ + members - 1) / members; }
  // The largest share of any group with several members (largest_share()), and the most inputs of any group
  // (inputs_of_all()). Only the last group differs from the others.
  int largest_share() const {
    const int last = groups_.members_of(groups_.count() - 1);
    return most_of_share(last > 1 ? last : groups_.members_of(0));
  }
  int inputs_of_all() const {
    int most = 0;
    for (int group : {0, groups_.count() - 1})
      most = std::max(most, groups_.members_of(group) * most_of_share(groups_.members_of(group)));
    return most;
  }

  // The rank and the place at which a rank finds the result of a group for it.
  struct Source {
    int rank;
    Operand data;
  };
  Source source(int group, int target) const {
    const int members = groups_.members_of(group), index = target * members / ranks_;
    const int rank = groups_.first(group) + index;
    if (members == 1) return {rank, inputs_.of(rank, target)};
    return {rank, partials_.of(rank, target - first_of_share(index, members))};
  }

  void show_all(LaneBuilder& lane, int rank) const {
    wait_each(lane, all_but(ranks_, rank), consumed_, iteration_before(ring_.depth));
    lane.copy_blocks(ranks_, piece_, inputs_.of(rank, 0), own_send(0)).post(partials_.flag, this_iteration());
  }
  void reduce_share(LaneBuilder& lane, int rank, const std::vector<int>& members) const {
    const int size = int(members.size()), index = rank - members.front();
    const auto first = [&](int of) { return first_of_share(of, size); };
    const auto length = [&](int of) { return first(of + 1) - first(of); };
    // A member writes each member's share, beginning with the next member's, so that not all write to the same slots at
    // once.
    for (int step = 1; step <= size; ++step) {
      const int of = (index + step) % size, member = members[size_t(of)];
      if (member != rank) lane.wait(member, partials_.flag, iteration_before(ring_.depth));
      lane.copy_blocks(length(of), piece_, inputs_.of(member, index * length(of)), own_send(first(of)));
    }
    lane.post(inputs_.flag, this_iteration());
    wait_others(lane, members, rank, inputs_.flag, this_iteration());
    for (int target = first(index); target < first(index + 1); ++target)
      if (target != rank) lane.wait(target, consumed_, iteration_before(ring_.depth));
    for (int place = 0; place < length(index); ++place) {
      std::vector<Operand> sources;
      for (int member = 0; member < size; ++member) sources.push_back(inputs_.of(rank, member * length(index) + place));
      fold(lane, piece_, partials_.of(rank, place), sources);
    }
    lane.post(partials_.flag, this_iteration());
  }

  const int ranks_;
  const AlignedGroups groups_;
  const Ring ring_;
  Builder b_;
  const uint16_t piece_;
  const StagedView inputs_;  // of a member: all members' inputs for its share, by member; in a group of one: its input
  const StagedView partials_;  // of a member: results of its share
  const uint16_t consumed_;
};

}  // namespace

Plan grouped_reduction(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "grouped", request);
  switch (what) {
    case Collective::reduce: return Reduce(request).make();
    case Collective::allreduce: return Allreduce(request).make();
    case Collective::reduce_scatter: return ReduceScatter(request).make();
    default: return Scan(request, what).make();
  }
}

}  // namespace coll::algo
