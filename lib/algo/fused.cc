// SPDX-License-Identifier: BSD-3-Clause
// fused: of every chunk each rank reduces its own slice from all ranks in one step, sources in rank order, and with
// direct views nothing is copied before it. Vector bytes touched in all: 3p-1 (allreduce), p+1 (reduce).
//
// Three lanes, each a loop over the chunks:
//   supply      makes the other ranks' slices of my send buffer visible (a staged view is filled here)
//   combine     my slice from everybody; the result goes to my recv buffer and view, or to the root's
//   distribute  allreduce: fetch the other slices; the root of a reduce: empty the slots of a staged view
#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {
namespace {

class Fused {
 public:
  Fused(const Request& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        ranks_(request.hierarchy->ranks()),
        root_(request.root),
        ring_(ring_of(request)),
        b_(start(what, "fused", request)),
        input_(b_, Buffer::send, ring_),
        output_(b_, Buffer::recv, ring_),
        // Posting an allreduce's result says both "my slice is ready" and "I have read everybody's input".
        done_(everywhere_ ? output_.flag : b_.flag()),
        taken_(b_.flag()),
        chunks_(b_.range({.chunk_bytes = ring_.chunk_bytes})),
        slices_(b_, ranks_, ring_.chunk_bytes) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    if (everywhere_) b_.synchronizing();
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      peers_ = all_but(ranks_, rank);
      supply(rank);
      combine(rank);
      if (everywhere_) distribute(rank);
      else if (rank == root_) drain(rank);
    }
    return b_.finish();
  }

 private:
  void supply(int rank) {
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, chunks_);
    lane.loop(chunks_);
    wait_each(lane, peers_, done_, pass_before(ring_.depth), input_.staged());
    slices_.copy_others(lane, rank, input_.of(rank), own_send(), input_.staged());
    lane.post(input_.flag, this_pass(), input_.staged());
    lane.end();
    // In an allreduce distribute() waits for the same flags.
    if (!everywhere_) wait_each(lane, peers_, done_, all_passes(chunks_), input_.direct());
  }

  void combine(int rank) {
    std::vector<Operand> sources;
    for (int q = 0; q < ranks_; ++q) sources.push_back(q == rank ? own_send() : input_.of(q));
    const Operand both[] = {own_recv(), output_.of(rank)};
    const Operand roots[] = {rank == root_ ? own_recv() : output_.of(root_)};
    const uint16_t mine = slices_.of(rank);

    LaneBuilder lane = b_.lane(rank);
    if (everywhere_) {
      output_.publish(lane);
    } else if (rank == root_) {
      // The value is one more than the passes whose slots are free again, so that 1 says "use the ring".
      output_.publish(lane);
      lane.post(output_.flag, constant(1), output_.staged());
      lane.post(output_.flag, all_passes(chunks_, 1), output_.direct());
    } else {
      lane.wait(root_, output_.flag, constant(1));
    }
    lane.loop(chunks_);
    wait_each(lane, peers_, input_.flag, this_pass());
    if (everywhere_) {
      wait_each(lane, peers_, taken_, pass_before(ring_.depth), output_.staged());
      lane.reduce(mine, both, sources, output_.staged());
      lane.reduce(mine, {both, 1}, sources, output_.direct());
    } else {
      if (rank != root_) lane.wait(root_, output_.flag, this_pass(1 - ring_.depth));
      lane.reduce(mine, roots, sources);
    }
    lane.post(done_, this_pass());
    lane.end();
    if (everywhere_) wait_each(lane, peers_, taken_, all_passes(chunks_), output_.direct());
  }

  void distribute(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(chunks_);
    for (int q : peers_) {
      lane.wait(q, done_, this_pass());
      lane.copy(slices_.of(q), own_recv(), output_.of(q), {}, false);
    }
    lane.post(taken_, this_pass());
    lane.end();
  }

  void drain(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(chunks_);
    wait_each(lane, peers_, done_, this_pass());
    slices_.copy_others(lane, rank, own_recv(), output_.of(rank), output_.staged(), false);
    lane.post(output_.flag, this_pass(1), output_.staged());
    lane.end();
  }

  const bool everywhere_;
  const int ranks_, root_;
  const Ring ring_;
  Builder b_;
  const Window input_, output_;
  const uint16_t done_, taken_, chunks_;
  const Slices slices_;
  std::vector<int> peers_;
};

}  // namespace

Plan fused(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "fused", request);
  return Fused(request, what).make();
}

}  // namespace coll::algo
