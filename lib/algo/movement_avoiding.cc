// SPDX-License-Identifier: BSD-3-Clause
// Movement-avoiding reductions (YHCCL 3.3 to 3.5). A slice of the vector travels: one member copies its part into shared
// memory, every further member adds its own in place, so that of all p contributions one only is ever copied. Operands
// combine in cyclic order, a different one for every slice: commutative operations only.
//
// Vector bytes touched in all, m groups: allreduce 5p+2m-3, reduce 3p+2m-1; with one group (the plain form) 5p-1, 3p+1.
//
// What differs from the text: a slice lives in the staging of its owner, a ring of slots of the slice size, instead of
// one shared array; slices start at the owner's next neighbour and rise, so that an owner finishes its own; with groups
// of different sizes the smallest one tells the number of slices; collecting a chunk overlaps with reducing the next.
// A flag per step is needed, so groups of more than `most_members` are split.
#include "algo/common.h"
#include "algo/families.h"
#include "algo/groups.h"

namespace coll::algo {
namespace {

constexpr int most_members = 120;

class MovementAvoiding {
 public:
  MovementAvoiding(const Request& request, Collective what, const char* name, Sockets sockets)
      : everywhere_(what == Collective::allreduce),
        root_(request.root),
        sockets_(std::move(sockets)),
        ring_(ring_of(request)),
        b_(start(what, name, request)),
        shared_(b_, Buffer::none, ring_),
        complete_(sockets_.count() == 1 ? shared_.flag : b_.flag()),
        taken_(b_.flag()) {
    b_.parameter("slice", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    b_.tree_order();
    if (everywhere_) b_.synchronizing();
    for (int step = 0; step + 1 < sockets_.longest; ++step) steps_.push_back(b_.flag());
    for (int slice = 0; slice < sockets_.slices; ++slice) {
      slices_.push_back(b_.range(part(slice)));
      for (int group = 0; group < sockets_.count(); ++group) {
        plan::Range share = part(slice);
        share.sub = uint16_t(group);
        share.subs = uint16_t(sockets_.count());
        shares_.push_back(b_.range(share));
      }
    }
    if (everywhere_) readers_ = all_but(request.hierarchy->ranks(), -1);
    else readers_ = {root_};
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      reduce(rank);
      if (everywhere_ || rank == root_) collect(rank);
    }
    return b_.finish();
  }

 private:
  // I = min(s / slices, slice_bytes), a cache line at least: every pass takes one slice of each part of the vector.
  plan::Range part(int slice) const {
    return {.part = uint16_t(slice), .parts = uint16_t(sockets_.slices), .chunk_bytes = ring_.chunk_bytes};
  }
  uint16_t share(int slice, int group) const { return shares_[size_t(slice * sockets_.count() + group)]; }

  void reduce(int rank) {
    const std::vector<int>& group = sockets_.group(rank);
    const int members = int(group.size()), index = sockets_.index_of[size_t(rank)];
    LaneBuilder lane = b_.lane(rank);
    lane.loop(slices_[0]);
    for (int step = 0; step < members; ++step) {
      const int slice = (index + 2 * members - 1 - step) % members;
      if (slice >= sockets_.slices) continue;
      const Operand at = shared_.of(group[size_t(slice)]), add[] = {at, own_send()};
      if (step == 0) {
        wait_each(lane, readers_, taken_, pass_before(ring_.depth));
        lane.copy(slices_[size_t(slice)], at, own_send());
      } else {
        lane.wait(group[size_t((index + members - 1) % members)], steps_[size_t(step) - 1], this_pass());
        lane.reduce(slices_[size_t(slice)], {&at, 1}, add);
      }
      lane.post(step + 1 < members ? steps_[size_t(step)] : shared_.flag, this_pass());
    }
    if (sockets_.count() > 1 && index < sockets_.slices) across(lane, rank, index);
    lane.end();
  }

  // The groups' results of one slice: each owner combines its share of it.
  void across(LaneBuilder& lane, int rank, int slice) {
    const int own_group = sockets_.group_of[size_t(rank)];
    const Operand at = shared_.of(rank);
    for (int group = 0; group < sockets_.count(); ++group) {
      if (group == own_group) continue;
      const int other = sockets_.member(group, slice);
      const Operand add[] = {at, shared_.of(other)};
      lane.wait(other, shared_.flag, this_pass());
      lane.reduce(share(slice, own_group), {&at, 1}, add);
    }
    lane.post(complete_, this_pass());
  }

  void collect(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(slices_[0]);
    for (int slice = 0; slice < sockets_.slices; ++slice)
      for (int group = 0; group < sockets_.count(); ++group) {
        const int owner = sockets_.member(group, slice);
        lane.wait(owner, complete_, this_pass());
        lane.copy(share(slice, group), own_recv(), shared_.of(owner), {}, false);
      }
    lane.post(taken_, this_pass()).end();
  }

  const bool everywhere_;
  const int root_;
  const Sockets sockets_;
  const Ring ring_;
  Builder b_;
  const Window shared_;      // its flag: the group's result of my slice is there
  const uint16_t complete_;  // my share of it is the result of all ranks
  const uint16_t taken_;
  std::vector<uint16_t> steps_;  // by step: I have added to my slice of that step
  std::vector<uint16_t> slices_, shares_;
  std::vector<int> readers_;  // who collects
};

Plan movement_avoiding(const Request& request, Collective what, const char* name, Sockets sockets) {
  if (request.hierarchy->ranks() == 1) return alone(what, name, request);
  return MovementAvoiding(request, what, name, sockets.at_most(most_members)).make();
}

}  // namespace

bool fits_one_group(const Request& request) { return request.hierarchy->ranks() <= most_members; }

Plan movement_avoiding(const Request& request, Collective what) {
  return movement_avoiding(request, what, "movement_avoiding", Sockets::one(request.hierarchy->ranks()));
}

Plan movement_avoiding_socket(const Request& request, Collective what) {
  return movement_avoiding(request, what, "movement_avoiding_socket", Sockets::of(*request.hierarchy));
}

}  // namespace coll::algo
