// SPDX-License-Identifier: BSD-3-Clause
// Movement-avoiding reductions (YHCCL 3.3 to 3.5). A slice of the vector goes from member to member: one copies its
// part into shared memory, and every further member adds its own in place, so that only one of all p contributions is
// ever copied. Operands combine in cyclic order, a different one for every slice: commutative operations only.
//
// Vector bytes touched in all, for m groups: reduce-scatter 3p+2m-3, allreduce 5p+2m-3, reduce 3p+2m-1; with one group
// (the plain form) 3p-1, 5p-1, 3p+1. Of these, 2 are copied before the reduction: no algorithm through shared memory
// can copy less (YHCCL Theorem 3.1).
//
// Differences from the paper: a slice is in the staging of its owner, in a ring of slots of the slice size, instead of
// one shared array. Slices start at the owner's next neighbour and rise, so that an owner finishes its own. With groups
// of different sizes the smallest one determines the number of slices. Collecting a chunk overlaps with reducing the
// next one. Each step needs a flag, so groups of more than `most_members` are split.
//
// In a reduce-scatter a slice consists of the blocks of the ranks that it is for, one of each group. Such a rank
// combines the groups' results itself; with one group the last addition writes directly into its receive buffer.
#include "algo/families.h"
#include "algo/groups.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

constexpr int most_members = 120;

class MovementAvoiding {
 public:
  MovementAvoiding(const PlanRequest& request, Collective what, const char* name, Sockets sockets)
      : everywhere_(what == Collective::allreduce),
        scatters_(what == Collective::reduce_scatter),
        root_(request.root),
        ranks_(request.hierarchy->ranks()),
        sockets_(std::move(sockets)),
        blocks_(scatters_ ? most_blocks() : 1),
        ring_(scatters_ ? ring_of_blocks(request, blocks_) : ring_of(request)),
        b_(start(what, name, request)),
        shared_(b_, Buffer::none, ring_, blocks_),
        complete_(sockets_.count() == 1 ? shared_.flag : b_.flag()),
        consumed_(ends_at_owner() ? shared_.flag : b_.flag()) {
    b_.parameter("slice", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    b_.unbalanced();
    if (everywhere_) b_.synchronizing();
    for (int step = 0; step + 1 < sockets_.longest; ++step) steps_.push_back(b_.flag());
    slices_.resize(size_t(sockets_.slices));
    if (scatters_) cut_into_blocks();
    else cut_into_parts();
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      reduce(rank);
      if (everywhere_ || (rank == root_ && !scatters_))
        collect(b_.lane(rank), loop_, results_, shared_, complete_, consumed_);
      if (scatters_ && !ends_at_owner()) gather(rank);
    }
    return b_.finish();
  }

 private:
  // A unit of the steps: a whole slice, or one of its blocks.
  struct Part {
    uint16_t range;
    int block;  // the rank whose block it is in the send buffer; no_block: a slice
    int place;  // block in a slot
  };

  // In a reduce-scatter of one group owners need no result of other ranks.
  bool ends_at_owner() const { return scatters_ && sockets_.count() == 1; }
  int most_blocks() const {
    std::vector<int> blocks(size_t(sockets_.slices));
    for (int rank = 0; rank < ranks_; ++rank) ++blocks[size_t(sockets_.slice_of(rank))];
    return std::ranges::max(blocks);
  }

  void cut_into_blocks() {
    loop_ = piece(b_, any_rank, any_rank, ring_.chunk_bytes);
    for (int rank = 0; rank < ranks_; ++rank) {
      std::vector<Part>& slice = slices_[size_t(sockets_.slice_of(rank))];
      slice.push_back({piece(b_, any_rank, rank, ring_.chunk_bytes), rank, int(slice.size())});
    }
  }
  // I = min(s / slices, slice_bytes), at least a cache line: every iteration handles one slice of each part of the
  // vector. The owner of a slice in each group combines one share of it.
  void cut_into_parts() {
    for (int slice = 0; slice < sockets_.slices; ++slice) {
      plan::Range part{.part = uint16_t(slice), .parts = uint16_t(sockets_.slices), .chunk_bytes = ring_.chunk_bytes};
      slices_[size_t(slice)] = {{b_.range(part), plan::no_block, 0}};
      part.subs = uint16_t(sockets_.count());
      for (int group = 0; group < sockets_.count(); ++group) {
        part.sub = uint16_t(group);
        results_.push_back({sockets_.member(group, slice), b_.range(part)});
      }
    }
    loop_ = slices_[0][0].range;
  }
  uint16_t share(int slice, int group) const { return results_[size_t(slice * sockets_.count() + group)].range; }

  // The ranks that read a slice's slot last, and acknowledge it with `consumed_`.
  std::vector<int> readers(int slice) const {
    if (everywhere_) return all_but(ranks_, -1);
    if (!scatters_) return {root_};
    if (ends_at_owner()) return {sockets_.member(0, slice)};
    std::vector<int> ranks;
    for (const Part& part : slices_[size_t(slice)]) ranks.push_back(part.block);
    return ranks;
  }

  void reduce(int rank) {
    const std::vector<int>& group = sockets_.group(rank);
    const int members = int(group.size()), index = sockets_.index_of[size_t(rank)];
    LaneBuilder lane = b_.lane(rank);
    lane.loop(loop_);
    for (int step = 0; step < members; ++step) {
      const int slice = (index + 2 * members - 1 - step) % members;
      if (slice >= sockets_.slices) continue;
      const bool last = step + 1 == members;
      if (step == 0) wait_each(lane, readers(slice), consumed_, iteration_before(ring_.depth));
      else lane.wait(group[size_t((index + members - 1) % members)], steps_[size_t(step) - 1], this_iteration());
      for (const Part& part : slices_[size_t(slice)]) {
        const Operand at = shared_.of(group[size_t(slice)], part.place), add[] = {at, own_send(part.block)};
        const Operand to[] = {last && ends_at_owner() ? own_recv() : at};
        if (step == 0) lane.copy(part.range, at, own_send(part.block));
        else lane.reduce(part.range, to, add);
      }
      lane.post(last ? shared_.flag : steps_[size_t(step)], this_iteration());
    }
    if (sockets_.count() > 1 && !scatters_ && index < sockets_.slices) across(lane, rank, index);
    lane.end();
  }

  // Combines the groups' results of one slice: each owner does so for its share.
  void across(LaneBuilder& lane, int rank, int slice) {
    const int own_group = sockets_.group_of[size_t(rank)];
    const Operand at = shared_.of(rank);
    for (int group = 0; group < sockets_.count(); ++group) {
      if (group == own_group) continue;
      const int other = sockets_.member(group, slice);
      const Operand add[] = {at, shared_.of(other)};
      lane.wait(other, shared_.flag, this_iteration());
      lane.reduce(share(slice, own_group), {&at, 1}, add);
    }
    lane.post(complete_, this_iteration());
  }

  // Combines the groups' results of the rank's own block.
  void gather(int rank) {
    const int slice = sockets_.slice_of(rank);
    const auto& parts = slices_[size_t(slice)];
    const Part& own = *std::ranges::find(parts, rank, &Part::block);
    const Operand to = own_recv();
    LaneBuilder lane = b_.lane(rank);
    lane.loop(loop_);
    for (int group = 0; group < sockets_.count(); ++group) {
      const int owner = sockets_.member(group, slice);
      const Operand next = shared_.of(owner, own.place);
      lane.wait(owner, shared_.flag, this_iteration());
      if (group == 0) continue;
      const Operand add[] = {group == 1 ? shared_.of(sockets_.member(0, slice), own.place) : to, next};
      lane.reduce(own.range, {&to, 1}, add);
    }
    lane.post(consumed_, this_iteration()).end();
  }

  const bool everywhere_, scatters_;
  const int root_, ranks_;
  const Sockets sockets_;
  const int blocks_;  // per slot
  const Ring ring_;
  Builder b_;
  const StagedView shared_;  // its flag: the group's result of the rank's slice is complete
  const uint16_t complete_;  // the rank's share of the slice is the result of all ranks
  const uint16_t consumed_;
  std::vector<uint16_t> steps_;  // by step: the rank has added to its slice of that step
  uint16_t loop_ = 0;
  std::vector<std::vector<Part>> slices_;
  std::vector<Result> results_;  // [slice * groups + group]
};

Plan movement_avoiding(const PlanRequest& request, Collective what, const char* name, Sockets sockets) {
  if (request.hierarchy->ranks() == 1) return alone(what, name, request);
  return MovementAvoiding(request, what, name, sockets.at_most(most_members)).make();
}

}  // namespace

bool fits_one_group(const PlanRequest& request) { return request.hierarchy->ranks() <= most_members; }

Plan movement_avoiding(const PlanRequest& request, Collective what) {
  return movement_avoiding(request, what, "movement_avoiding", Sockets::one(request.hierarchy->ranks()));
}

Plan movement_avoiding_socket(const PlanRequest& request, Collective what) {
  return movement_avoiding(request, what, "movement_avoiding_socket", Sockets::of(*request.hierarchy));
}

}  // namespace coll::algo
