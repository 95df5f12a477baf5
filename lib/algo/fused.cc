// SPDX-License-Identifier: BSD-3-Clause
// Each rank reduces its own share of the vector from all ranks' buffers; with direct views no copy precedes it. Vector
// bytes touched in all:
//   fused                 one step for all sources      allreduce 3p-1, reduce p+1, reduce-scatter p+1
//   shared_address_space  one addition after another    allreduce 5(p-1)                                  (SAS)
//
// Each rank has three lanes, each a loop over the chunks:
//   supply      makes the other ranks' shares of its send buffer visible (fills a staged view)
//   combine     reduces its own share of all ranks' inputs into its receive buffer and view, or into the root's
//   distribute  allreduce: fetches the other shares; the root of a reduce: empties the slots of a staged view
//   distribute  allreduce: fetch the other shares; the root of a reduce: empty the slots of a staged view
#include <optional>

#include "algo/families.h"
#include "algo/fold.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

class Fused {
 public:
  Fused(const PlanRequest& request, Collective what, const char* name, bool one_step)
      : everywhere_(what == Collective::allreduce),
        scatters_(what == Collective::reduce_scatter),
        ranks_(request.hierarchy->ranks()),
        root_(request.root),
        b_(start(what, name, request)),
        shares_(b_, what, request, ranks_, 1),
        input_(shares_.window(b_, Buffer::send)) {
    if (!scatters_) output_.emplace(shares_.window(b_, Buffer::recv));
    if (!one_step) boxes_.emplace(b_, shares_.ring().chunk_bytes, ranks_);
    // A rank that posts its result of an allreduce has also read all ranks' inputs, so one flag serves for both.
    done_ = everywhere_ ? output_->flag : b_.flag();
    if (everywhere_) consumed_ = b_.flag();
    if (everywhere_ || scatters_) b_.synchronizing();
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      peers_ = all_but(ranks_, rank);
      supply(rank);
      combine(rank);
      if (everywhere_) distribute(rank);
      else if (rank == root_ && !scatters_) drain(rank);
    }
    return b_.finish();
  }

 private:
  // Value n + begun_ of the input's flag: n iterations are complete. In a reduce-scatter, whose blocks may be empty,
  // value 1 says that the rank has started; every rank waits for it from all others.
  void supply(int rank) {
    LaneBuilder lane = b_.lane(rank);
    input_.publish(lane);
    lane.post(input_.flag, all_iterations(shares_.all(), begun_), input_.direct());
    lane.loop(shares_.all());
    wait_each(lane, peers_, done_, iteration_before(shares_.depth()), input_.staged());
    shares_.stage_others(lane, rank, input_, input_.staged());
    lane.post(input_.flag, this_iteration(begun_), input_.staged());
    lane.end();
    if (scatters_) lane.post(input_.flag, all_iterations(shares_.all(), begun_), input_.staged());
    // In an allreduce distribute() waits for the same flags.
    if (!everywhere_) wait_each(lane, peers_, done_, all_iterations(shares_.all()), input_.direct());
  }

  void combine(int rank) {
    LaneBuilder lane = b_.lane(rank);
    if (everywhere_) {
      output_->publish(lane);
    } else if (!scatters_ && rank == root_) {
      // Value n+1 of the flag: the slots of the first n iterations are free again; value 1 says that the root uses its
      // ring.
      output_->publish(lane);
      lane.post(output_->flag, constant(1), output_->staged());
      lane.post(output_->flag, all_iterations(shares_.all(), 1), output_->direct());
    } else if (!scatters_) {
      lane.wait(root_, output_->flag, constant(1));
    }
    lane.loop(shares_.all());
    wait_each(lane, peers_, input_.flag, this_iteration(begun_));
    const std::vector<Operand> sources = sources_of(lane, rank);
    if (everywhere_) {
      const Operand both[] = {own_recv(), output_->of(rank)};
      wait_each(lane, peers_, consumed_, iteration_before(shares_.depth()), output_->staged());
      lane.reduce(shares_.of(rank), both, sources, output_->staged());
      lane.reduce(shares_.of(rank), {both, 1}, sources, output_->direct());
    } else {
      const bool own = scatters_ || rank == root_;
      const Operand to[] = {own ? own_recv() : output_->of(root_)};
      if (!own) lane.wait(root_, output_->flag, this_iteration(1 - shares_.depth()));
      lane.reduce(shares_.of(rank), to, sources);
    }
    lane.post(done_, this_iteration());
    lane.end();
    if (scatters_) wait_each(lane, peers_, input_.flag, constant(begun_));
    if (everywhere_) wait_each(lane, peers_, consumed_, all_iterations(shares_.all()), output_->direct());
  }

  // The operands of the last step that makes the rank's share: all sources, or the two halves of the fold. The halves
  // are combined only in that step because, in place, the result replaces one of the sources.
  std::vector<Operand> sources_of(LaneBuilder& lane, int rank) const {
    std::vector<Operand> sources;
    for (int q = 0; q < ranks_; ++q) sources.push_back(q == rank ? shares_.send(rank) : shares_.in(input_, q, rank));
    if (!boxes_) return sources;
    return fold_halves(lane, shares_.of(rank), sources, boxes_->of(rank));
  }

  void distribute(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    for (int q : peers_) {
      lane.wait(q, done_, this_iteration());
      lane.copy_result(shares_.of(q), own_recv(), output_->of(q));
    }
    lane.post(consumed_, this_iteration());
    lane.end();
  }

  void drain(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    wait_each(lane, peers_, done_, this_iteration());
    shares_.unstage_others(lane, rank, *output_);
    lane.post(output_->flag, this_iteration(1), output_->staged());
    lane.end();
  }

  const bool everywhere_, scatters_;
  const int begun_ = scatters_ ? 1 : 0;
  const int ranks_, root_;
  Builder b_;
  const Shares shares_;
  const StagedView input_;
  std::optional<StagedView> output_;
  std::optional<Boxes> boxes_;
  uint16_t done_ = 0, consumed_ = 0;
  std::vector<int> peers_;
};

Plan shared_out(const PlanRequest& request, Collective what, const char* name, bool one_step) {
  if (request.hierarchy->ranks() == 1) return alone(what, name, request);
  return Fused(request, what, name, one_step).make();
}

}  // namespace

Plan fused(const PlanRequest& request, Collective what) { return shared_out(request, what, "fused", true); }

Plan shared_address_space(const PlanRequest& request, Collective what) {
  return shared_out(request, what, "shared_address_space", false);
}

}  // namespace coll::algo
