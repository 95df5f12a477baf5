// SPDX-License-Identifier: BSD-3-Clause
// ring: partial results of every share travel around the ring of ranks, and each rank adds its own input; an allreduce
// then sends the finished shares around the same ring. As between processes that exchange messages, a rank receives
// (copies) its neighbour's partial result before it adds to it. Operands combine in cyclic order, a different one for
// every share: commutative operations only.
//
// Vector bytes touched in all: allreduce 7(p-1), reduce-scatter 5(p-1) (YHCCL Tables 1 and 2).
//
// Each step needs a flag. For more than `most_ranks` ranks the generator makes the flat DPML plan under this name.
#include <optional>

#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

constexpr int most_ranks = 64;

class RingReduction {
 public:
  RingReduction(const PlanRequest& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        ranks_(request.hierarchy->ranks()),
        b_(start(what, "ring", request)),
        shares_(b_, what, request, ranks_, 1),
        // A view of one share is sufficient, because the neighbour always reads the same one.
        input_(b_, Buffer::send, shares_.ring()),
        partial_(shares_.window(b_, Buffer::none)),
        received_(shares_.box(b_)),
        added_{input_.flag, partial_.flag, received_.flag} {
    b_.unbalanced();
    added_.resize(std::min<size_t>(added_.size(), size_t(ranks_) - 1));
    while (added_.size() + 1 < size_t(ranks_)) added_.push_back(b_.flag());
    if (everywhere_) {
      b_.synchronizing();
      output_.emplace(b_, Buffer::recv, shares_.ring());
      added_.push_back(output_->flag);
      for (int step = 1; step < ranks_; ++step) passed_.push_back(b_.flag());
    } else {
      added_.push_back(b_.flag());
    }
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      before_ = turn(rank, -1);
      after_ = turn(rank, 1);
      add(rank);
      if (everywhere_) forward(rank);
    }
    return b_.finish();
  }

 private:
  int turn(int rank, int steps) const { return (rank + steps + ranks_) % ranks_; }

  // In step t, from 1, a rank adds to the share that its neighbour added to in step t-1; in the last step, to its own.
  void add(int rank) {
    const int steps = ranks_ - 1;
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, shares_.all());
    if (everywhere_) output_->publish(lane);
    lane.loop(shares_.all());
    lane.wait(after_, added_[1], iteration_before(shares_.depth()), input_.staged());
    lane.copy(shares_.of(before_), input_.of(rank, shares_.block(before_)), shares_.send(before_), input_.staged());
    lane.post(input_.flag, this_iteration(), input_.staged());
    // The neighbour has read all partial results of the iteration whose slot this one reuses.
    lane.wait(after_, added_[size_t(steps)], iteration_before(shares_.depth()));
    if (everywhere_)  // and the rank's other lane is done with it; its shares may have had other borders then
      wait_each(lane, {after_, rank}, passed_.back(), iteration_before(shares_.depth()), output_->staged());
    for (int step = 1; step <= steps; ++step) {
      const int share = turn(rank, -step - 1);
      const Operand received = received_.of(rank), sources[] = {received, shares_.send(share)};
      lane.wait(before_, added_[size_t(step) - 1], this_iteration());
      lane.copy(shares_.of(share), received,
                step == 1 ? input_.of(before_, shares_.block(share)) : shares_.in(partial_, before_, share));
      if (step < steps) {
        const Operand to[] = {shares_.in(partial_, rank, share)};
        lane.reduce(shares_.of(share), to, sources);
      } else if (everywhere_) {
        const Operand to[] = {own_recv(), output_->of(rank)};
        lane.reduce(shares_.of(share), to, sources, output_->staged());
        lane.reduce(shares_.of(share), {to, 1}, sources, output_->direct());
      } else {
        const Operand to[] = {own_recv()};
        lane.reduce(shares_.of(share), to, sources);
      }
      lane.post(added_[size_t(step)], this_iteration());
    }
    lane.end();
    lane.wait(after_, added_[1], all_iterations(shares_.all()), input_.direct());
    if (everywhere_) lane.wait(after_, passed_.back(), all_iterations(shares_.all()), output_->direct());
  }

  // In step t a rank fetches the share that its neighbour fetched in step t-1; in the first step, the neighbour's own.
  void forward(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    lane.wait(rank, output_->flag, this_iteration());  // the rank's slot is free
    for (int step = 1; step < ranks_; ++step) {
      lane.wait(before_, step == 1 ? output_->flag : passed_[size_t(step) - 2], this_iteration());
      lane.copy(shares_.of(turn(rank, -step)), output_->of(rank), output_->of(before_));
      if (step + 1 == ranks_) shares_.unstage_others(lane, rank, *output_);
      lane.post(passed_[size_t(step) - 1], this_iteration());
    }
    lane.end();
  }

  const bool everywhere_;
  const int ranks_;
  Builder b_;
  const Shares shares_;
  const StagedView input_, partial_, received_;
  std::optional<StagedView> output_;
  std::vector<uint16_t> added_;   // by step: the rank has added to the share of that step; 0: its input is complete
  std::vector<uint16_t> passed_;  // by step, from 1: the rank has fetched the share of that step
  int before_ = 0, after_ = 0;
};

}  // namespace

bool fits_ring(const PlanRequest& request) { return request.hierarchy->ranks() <= most_ranks; }

Plan ring(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "ring", request);
  if (!fits_ring(request)) return dpml(request, what, "ring");
  return RingReduction(request, what).make();
}

}  // namespace coll::algo
