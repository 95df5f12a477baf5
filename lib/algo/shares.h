// SPDX-License-Identifier: BSD-3-Clause
// How reductions share out their vector: what ring, fused, Rabenseifner's and flat DPML have in common, whether they
// make an allreduce, a reduce or a reduce-scatter.
#pragma once

#include "algo/common.h"

namespace coll::algo {

// A vector in shares, one for each of `members`. Every pass handles a chunk of the vector and cuts it into slices; of a
// reduce-scatter, whose shares are the blocks, it handles a chunk of every block. Shares of one pass lie side by side in
// a slot.
class Shares {
 public:
  // `rings`: how many views whose slots hold all shares the plan has.
  Shares(Builder& b, Collective what, const Request& request, int members, int rings)
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
  uint16_t all() const { return all_; }  // what loops are over; as long for every rank
  uint16_t of(int share) const { return scatters_ ? pieces_[size_t(share)] : slices_.of(share); }
  int block(int share) const { return scatters_ ? share : int(plan::no_block); }
  Operand send(int share) const { return own_send(block(share)); }
  Operand in(const Window& window, int rank, int share) const { return window.of(rank, block(share)); }
  // A view whose slots hold all shares.
  Window window(Builder& b, Buffer buffer) const { return Window(b, buffer, ring_, scatters_ ? members_ : 1); }
  // Plain staging for one share at a time.
  Window box(Builder& b, uint16_t depth = 1) const { return Window(b, Buffer::none, {ring_.chunk_bytes, depth}); }

  // My send buffer into my slot, all of it or what is not my own share.
  void stage(LaneBuilder& lane, int rank, const Window& to, Only only = {}) const {
    if (!scatters_) return void(lane.copy(all_, to.of(rank), own_send(), only));
    for (int share = 0; share < members_; ++share) lane.copy(of(share), in(to, rank, share), send(share), only);
  }
  void stage_others(LaneBuilder& lane, int rank, const Window& to, Only only) const {
    if (!scatters_) return slices_.copy_others(lane, rank, to.of(rank), own_send(), only);
    for (int share : all_but(members_, rank)) lane.copy(of(share), in(to, rank, share), send(share), only);
  }
  // Results of the other slices out of my slot. REQUIRES: not of a reduce-scatter.
  void unstage_others(LaneBuilder& lane, int rank, const Window& from) const {
    slices_.copy_others(lane, rank, own_recv(), from.of(rank), from.staged(), false);
  }

 private:
  const bool scatters_;
  const int members_;
  const Ring ring_;
  const uint16_t all_;
  Slices slices_;
  std::vector<uint16_t> pieces_;
};

// Who fetches results of other ranks.
inline std::vector<int> readers_of(Collective what, const Request& request) {
  if (what == Collective::allreduce) return all_but(request.hierarchy->ranks(), -1);
  if (what == Collective::reduce) return {request.root};
  return {};
}

// What a rank has to fetch: `range` of the result, from the owner's slot, or from a block of it.
struct Result {
  int owner;
  uint16_t range;
  int block = plan::no_block;
};

// Every pass fetches all results once their owners say that they are complete, and says that they are taken.
inline void collect(LaneBuilder lane, uint16_t loop, const std::vector<Result>& results, const Window& shared,
                    uint16_t complete, uint16_t taken) {
  lane.loop(loop);
  for (const Result& result : results) {
    lane.wait(result.owner, complete, this_pass());
    lane.copy(result.range, own_recv(), shared.of(result.owner, result.block), {}, false);
  }
  lane.post(taken, this_pass()).end();
}

}  // namespace coll::algo
