// SPDX-License-Identifier: BSD-3-Clause
// The division of a vector that ring, fused, Rabenseifner's algorithm and flat DPML use for an allreduce, a reduce or a
// reduce-scatter.
#pragma once

#include "algo/common.h"

namespace coll::algo {

// A vector in shares, one for each of `members`. Each iteration handles a chunk of the vector and cuts it into slices.
// In a reduce-scatter, whose shares are the blocks, it handles a chunk of every block instead. Shares of one iteration
// are adjacent in a slot.
class Shares {
 public:
  // `rings` is the number of the plan's views whose slots hold all shares.
  Shares(Builder& b, Collective what, const PlanRequest& request, int members, int rings)
      : scatters_(what == Collective::reduce_scatter),
        members_(members),
        ring_(scatters_ ? ring_of_blocks(request, rings * members + 2) : ring_of(request)),
        all_(scatters_ ? piece(b, any_rank, any_rank, ring_.chunk_bytes)
                       : b.range({.chunk_bytes = ring_.chunk_bytes})) {
    b.parameter("chunk", ring_.chunk_bytes);
    b.parameter("depth", ring_.depth);
    if (!scatters_) slices_ = Slices(b, members, ring_.chunk_bytes);
    else
      for (int share = 0; share < members; ++share) pieces_.push_back(piece(b, any_rank, share, ring_.chunk_bytes));
  }

  const Ring& ring() const { return ring_; }
  uint16_t depth() const { return ring_.depth; }
  uint16_t all() const { return all_; }  // range of the loops; the same number of iterations on every rank
  uint16_t of(int share) const { return scatters_ ? pieces_[size_t(share)] : slices_.of(share); }
  int block(int share) const { return scatters_ ? share : int(plan::no_block); }
  Operand send(int share) const { return own_send(block(share)); }
  Operand in(const StagedView& window, int rank, int share) const { return window.of(rank, block(share)); }
  // Makes a view whose slots hold all shares.
  StagedView window(Builder& b, Buffer buffer) const { return StagedView(b, buffer, ring_, scatters_ ? members_ : 1); }
  // Makes plain staging for one share at a time.
  StagedView box(Builder& b, uint16_t depth = 1) const {
    return StagedView(b, Buffer::none, {ring_.chunk_bytes, depth});
  }

  // Copy the rank's send buffer into its slot: the whole, or all except its own share.
  void stage(LaneBuilder& lane, int rank, const StagedView& to, Only only = {}) const {
    if (!scatters_) return void(lane.copy(all_, to.of(rank), own_send(), only));
    for (int share = 0; share < members_; ++share) lane.copy(of(share), in(to, rank, share), send(share), only);
  }
  void stage_others(LaneBuilder& lane, int rank, const StagedView& to, Only only) const {
    if (scatters_) {
      for (int share : all_but(members_, rank)) lane.copy(of(share), in(to, rank, share), send(share), only);
    } else {
      for (uint16_t range : slices_.others(rank)) lane.copy(range, to.of(rank), own_send(), only);
    }
  }
  // Copies the results of the other slices from the rank's slot. REQUIRES: not a reduce-scatter.
  void unstage_others(LaneBuilder& lane, int rank, const StagedView& from) const {
    for (uint16_t range : slices_.others(rank)) lane.copy_result(range, own_recv(), from.of(rank), from.staged());
  }

 private:
  const bool scatters_;
  const int members_;
  const Ring ring_;
  const uint16_t all_;
  Slices slices_;
  std::vector<uint16_t> pieces_;
};

// The ranks that fetch results of other ranks.
inline std::vector<int> readers_of(Collective what, const PlanRequest& request) {
  if (what == Collective::allreduce) return all_but(request.hierarchy->ranks(), -1);
  if (what == Collective::reduce) return {request.root};
  return {};
}

// A part of the result that a rank fetches: `range`, from the owner's slot or from one block of it.
struct Result {
  int owner;
  uint16_t range;
  int block = plan::no_block;
};

// In each iteration, waits until each owner has posted that its result is complete, copies it, and finally posts
// `consumed`.
inline void collect(LaneBuilder lane, uint16_t loop, const std::vector<Result>& results, const StagedView& shared,
                    uint16_t complete, uint16_t consumed) {
  lane.loop(loop);
  for (const Result& result : results) {
    lane.wait(result.owner, complete, this_iteration());
    lane.copy_result(result.range, own_recv(), shared.of(result.owner, result.block));
  }
  lane.post(consumed, this_iteration()).end();
}

}  // namespace coll::algo
