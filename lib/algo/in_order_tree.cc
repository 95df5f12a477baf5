// SPDX-License-Identifier: BSD-3-Clause
// A reduction that moves as few bytes as movement avoiding. Even ranks copy a chunk into shared memory. Odd ranks
// reduce their own input into it in place, together with the results that their block of ranks completes: like a carry
// in a binary counter, rank 3 also joins the results of ranks 0 and 1 and of rank 2, and so on. The last rank has the
// result of all, and the ranks that need a part of it copy it out. Vector bytes touched in all: allreduce 5p-2, reduce
// 3p+1 (3p-1 if the last rank is root), reduce-scatter 3p+1-2/p.
//
// Results that wait to be joined are in log2 p places (binary_counter.h), which stay in the caches. A rank waits for few
// others. The algorithm is made for oversubscribed ranks, where each wait may cost a time slice of every other rank.
#include "algo/binary_counter.h"
#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

class InOrderTree {
 public:
  InOrderTree(const PlanRequest& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        scatters_(what == Collective::reduce_scatter),
        root_(request.root),
        last_(request.hierarchy->ranks() - 1),
        ring_(scatters_ ? ring_of_blocks(request, last_ + 1) : ring_of(request)),
        b_(start(what, "in_order_tree", request)),
        sums_(b_, Buffer::none, ring_, scatters_ ? last_ + 1 : 1),
        consumed_(b_.flag()),
        chunks_(scatters_ ? piece(b_, any_rank, any_rank, ring_.chunk_bytes)
                          : b_.range({.chunk_bytes = ring_.chunk_bytes})) {
    b_.parameter("chunk", ring_.chunk_bytes);
    b_.parameter("depth", ring_.depth);
    if (everywhere_) b_.synchronizing();
    if (!scatters_) parts_.push_back({chunks_, plan::no_block});
    for (int rank = 0; scatters_ && rank <= last_; ++rank)
      parts_.push_back({piece(b_, any_rank, rank, ring_.chunk_bytes), rank});
    for (int rank = 0; rank < last_; ++rank)
      if (has_result(rank)) readers_.push_back(rank);
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      add(rank);
      if (rank != last_ && has_result(rank)) read_result(rank);
    }
    return b_.finish();
  }

 private:
  struct Part {
    uint16_t range;
    int block;  // of the send buffer and of a slot; no_block: the whole buffer or slot
  };

  bool has_result(int rank) const { return everywhere_ || scatters_ || rank == root_; }
  const Part& own_part(int rank) const { return parts_[scatters_ ? size_t(rank) : 0]; }

  Operand sum_of(int first, const Part& part) const {
    return sums_.of(holder_of_place(place_of_block(first)), part.block);
  }

  // Waits until an even rank's place is free, which the previous rank has ensured in this iteration.
  void await_place(LaneBuilder& lane, int rank) const {
    if (rank == 0) wait_each(lane, readers_, consumed_, iteration_before(ring_.depth));
    if (rank == holder_of_place(place_of_block(rank))) lane.wait(last_, sums_.flag, iteration_before(ring_.depth));
    else lane.wait(rank - 1, sums_.flag, this_iteration());
  }

  void add(int rank) {
    const std::vector<JoinedBlock> blocks = blocks_joined_by(rank, last_);
    LaneBuilder lane = b_.lane(rank);
    lane.loop(chunks_);
    if (blocks.empty()) await_place(lane, rank);
    for (const JoinedBlock& block : blocks) lane.wait(block.maker(), sums_.flag, this_iteration());
    for (const Part& part : parts_) {
      if (blocks.empty()) {
        lane.copy(part.range, sum_of(rank, part), own_send(part.block));
        continue;
      }
      std::vector<Operand> sources;
      for (const JoinedBlock& block : blocks) sources.push_back(sum_of(block.first, part));
      sources.push_back(own_send(part.block));
      if (rank == last_) lane.reduce_from_right(part.range, results(part), sources);
      else lane.reduce_from_right(part.range, {sources.data(), 1}, sources);
    }
    lane.post(sums_.flag, this_iteration()).end();
  }

  void read_result(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(chunks_).wait(last_, sums_.flag, this_iteration());
    lane.copy_result(own_part(rank).range, own_recv(), sum_of(0, own_part(rank)));
    lane.post(consumed_, this_iteration()).end();
  }

  // The destinations of the result: the first place, from which other ranks copy it, and the last rank's receive
  // buffer.
  std::vector<Operand> results(const Part& part) const {
    const bool keeps = has_result(last_) && (!scatters_ || part.block == last_);
    std::vector<Operand> to;
    if (keeps) to.push_back(own_recv());
    if (!keeps || everywhere_) to.push_back(sum_of(0, part));
    return to;
  }

  const bool everywhere_, scatters_;
  const int root_, last_;
  const Ring ring_;
  Builder b_;
  const StagedView sums_;  // its flag: the rank has added its input
  const uint16_t consumed_, chunks_;
  std::vector<Part> parts_;
  std::vector<int> readers_;  // ranks that read the results
};

}  // namespace

Plan in_order_tree(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "in_order_tree", request);
  return InOrderTree(request, what).make();
}

}  // namespace coll::algo
