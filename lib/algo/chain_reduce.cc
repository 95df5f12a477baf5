// SPDX-License-Identifier: BSD-3-Clause
// A reduction in rank order that moves as little as movement avoiding does: rank 0 copies a chunk into shared memory, one
// rank after another adds its own in place, whoever has a result copies it out. All slots are the last rank's. Vector bytes
// touched in all: allreduce 5p-2, reduce 3p+1 (3p-1 if the last rank is root), reduce-scatter 3p+1-2/p.
//
// A rank waits for one other only, and for as long as there are slots it can go on: made for ranks that share cores, where
// each wait may cost a turn of everybody else. A chunk needs p hops, which ranks with a core each would feel.
#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

class Chain {
 public:
  Chain(const Request& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        scatters_(what == Collective::reduce_scatter),
        root_(request.root),
        last_(request.hierarchy->ranks() - 1),
        ring_(scatters_ ? ring_of_blocks(request, last_ + 1) : ring_of(request)),
        b_(start(what, "chain", request)),
        sums_(b_, Buffer::none, ring_, scatters_ ? last_ + 1 : 1),
        taken_(b_.flag()),
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
      if (rank == last_ || !has_result(rank)) continue;
      const Part& part = own_part(rank);
      collect(b_.lane(rank), chunks_, {{last_, part.range, part.block}}, sums_, sums_.flag, taken_);
    }
    return b_.finish();
  }

 private:
  struct Part {
    uint16_t range;
    int block;  // of the send buffer and of a slot; no_block: all of it
  };

  bool has_result(int rank) const { return everywhere_ || scatters_ || rank == root_; }
  const Part& own_part(int rank) const { return parts_[scatters_ ? size_t(rank) : 0]; }

  void add(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(chunks_);
    if (rank == 0) {
      wait_each(lane, readers_, taken_, pass_before(ring_.depth));
      lane.wait(last_, sums_.flag, pass_before(ring_.depth));
    } else {
      lane.wait(rank - 1, sums_.flag, this_pass());
    }
    for (const Part& part : parts_) {
      const Operand sum = sums_.of(last_, part.block), add[] = {sum, own_send(part.block)};
      if (rank == 0) lane.copy(part.range, sum, own_send(part.block));
      else lane.reduce(part.range, results(rank, part), add);
    }
    lane.post(sums_.flag, this_pass()).end();
  }

  // Where a partial result goes: back to its slot, from the last rank also or only to its receive buffer.
  std::vector<Operand> results(int rank, const Part& part) const {
    const bool keeps = rank == last_ && has_result(rank) && (!scatters_ || part.block == rank);
    const bool passes_on = !keeps || everywhere_;
    std::vector<Operand> to;
    if (keeps) to.push_back(own_recv());
    if (passes_on) to.push_back(sums_.of(last_, part.block));
    return to;
  }

  const bool everywhere_, scatters_;
  const int root_, last_;
  const Ring ring_;
  Builder b_;
  const Window sums_;  // its flag: I have added mine
  const uint16_t taken_, chunks_;
  std::vector<Part> parts_;
  std::vector<int> readers_;  // of the slots, when all have added theirs
};

}  // namespace

Plan chain_reduce(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "chain", request);
  return Chain(request, what).make();
}

}  // namespace coll::algo
