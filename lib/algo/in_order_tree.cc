// SPDX-License-Identifier: BSD-3-Clause
// A reduction that moves as little as movement avoiding does: even ranks copy a chunk into shared memory, odd ranks reduce
// their own into what is there, in place, and whatever their block of ranks completes: as a carry in a binary counter, rank 3
// also joins the results of ranks 0 and 1 and of ranks 2 and 3, and so on. The last rank has the result of all, and the
// ranks that want a part copy it out. Vector bytes touched in all: allreduce 5p-2, reduce 3p+1 (3p-1 if the last rank is root),
// reduce-scatter 3p+1-2/p.
//
// Even ranks wait for no other rank while there are slots, and odd ones for few others: made for ranks that share cores, where each
// wait may cost a turn of all others.
#include <algorithm>

#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

class InOrderTree {
 public:
  InOrderTree(const Request& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        scatters_(what == Collective::reduce_scatter),
        root_(request.root),
        last_(request.hierarchy->ranks() - 1),
        ring_(scatters_ ? ring_of_blocks(request, last_ + 1) : ring_of(request)),
        b_(start(what, "in_order_tree", request)),
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
  // So many ranks from `first`, whose result is in the slot of `first`.
  struct Block {
    int first, size;
    int maker() const { return first + size - 1; }
  };

  bool has_result(int rank) const { return everywhere_ || scatters_ || rank == root_; }
  const Part& own_part(int rank) const { return parts_[scatters_ ? size_t(rank) : 0]; }

  // What a rank joins with its own input: the blocks before it that its own completes, of the last rank all; in order.
  std::vector<Block> joined_by(int rank) const {
    std::vector<Block> blocks;
    for (int size = 1, first = rank; first > 0; size *= 2) {
      if ((rank & size) != 0) blocks.push_back({first -= size, size});
      else if (rank != last_) break;
    }
    std::ranges::reverse(blocks);
    return blocks;
  }
  // Who reads a rank's slot last.
  int last_reader(int rank) const { return rank == 0 ? last_ : std::min(rank + (rank & -rank) - 1, last_); }

  void add(int rank) {
    const std::vector<Block> blocks = joined_by(rank);
    LaneBuilder lane = b_.lane(rank);
    lane.loop(chunks_);
    if (blocks.empty()) lane.wait(last_reader(rank), sums_.flag, pass_before(ring_.depth));
    for (const Block& block : blocks) lane.wait(block.maker(), sums_.flag, this_pass());
    if (rank == last_) wait_each(lane, readers_, taken_, pass_before(ring_.depth));
    for (const Part& part : parts_) {
      if (blocks.empty()) {
        lane.copy(part.range, sums_.of(rank, part.block), own_send(part.block));
        continue;
      }
      std::vector<Operand> sources;
      for (const Block& block : blocks) sources.push_back(sums_.of(block.first, part.block));
      sources.push_back(own_send(part.block));
      if (rank == last_) lane.reduce_from_right(part.range, results(part), sources);
      else lane.reduce_from_right(part.range, {sources.data(), 1}, sources);
    }
    lane.post(sums_.flag, this_pass()).end();
  }

  // Where the result goes: to a slot of the last rank, from which the others take it, and to its own receive buffer.
  std::vector<Operand> results(const Part& part) const {
    const bool keeps = has_result(last_) && (!scatters_ || part.block == last_);
    std::vector<Operand> to;
    if (keeps) to.push_back(own_recv());
    if (!keeps || everywhere_) to.push_back(sums_.of(last_, part.block));
    return to;
  }

  const bool everywhere_, scatters_;
  const int root_, last_;
  const Ring ring_;
  Builder b_;
  const Window sums_;  // its flag: I have added mine
  const uint16_t taken_, chunks_;
  std::vector<Part> parts_;
  std::vector<int> readers_;  // of the results
};

}  // namespace

Plan in_order_tree(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "in_order_tree", request);
  return InOrderTree(request, what).make();
}

}  // namespace coll::algo
