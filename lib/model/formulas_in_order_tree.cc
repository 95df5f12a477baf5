// SPDX-License-Identifier: BSD-3-Clause
// in_order_tree (lib/algo/in_order_tree.cc). An even rank copies its input to a place in shared memory, an odd rank
// joins its own input with the results in such places. A place is reused, so that most even ranks wait for the rank
// before them, and the first chunk passes all ranks one after another:
//
//   end(r) = end(r - 1) + flag + copy              r even; without end(r - 1) + flag if r is the first to use its place
//   end(r) = max of end(maker) + flag, + reduce    r odd, or the last rank; over the blocks that r joins
//
// Later chunks follow at the interval of the busiest rank or of the links. A ring of `depth` slots is free again when the
// last rank has the result of its first chunk and the readers have copied it, so each ring takes at least that time.
//
//   T = whole + (chunks - 1) interval + floor((chunks - 1) / depth) max(whole + flag - depth interval, 0)
//   whole = end(p - 1) + flag + out
#include <algorithm>
#include <cmath>
#include <vector>

#include "algo/binary_counter.h"
#include "model/formulas.h"
#include "model/outgoing.h"
#include "model/work.h"

namespace coll::model {

namespace {

using topo::Distance;

using algo::JoinedBlock;

// The rank whose memory holds the result of a block that begins at `first`.
int holder_of(int first) { return algo::holder_of_place(algo::place_of_block(first)); }

class InOrderTree {
 public:
  // `parts`: the reductions or copies of a chunk.
  InOrderTree(const Setting& on, double bytes, int parts)
      : on_(on), bytes_(bytes), parts_(parts), outgoing_(on.hierarchy()) {
    const int last = on.ranks() - 1;
    std::vector<Terms> end(size_t(last) + 1);
    for (int rank = 0; rank <= last; ++rank) {
      const std::vector<JoinedBlock> blocks = algo::blocks_joined_by(rank, last);
      const Terms own = blocks.empty() ? copy_in(rank) : join(rank, blocks);
      Terms begin;
      if (blocks.empty() && rank != holder_of(rank)) begin = after(end, rank - 1, rank);
      for (const JoinedBlock& block : blocks)
        if (const Terms made = after(end, block.maker(), rank); made.total_us() > begin.total_us()) begin = made;
      end[size_t(rank)] = begin + own;
      const Terms all = own + flags(double(std::max<size_t>(blocks.size(), 1)) * on.look_us() + on.step_us());
      if (all.total_us() > busiest_.total_us()) busiest_ = all;
    }
    first_ = end.back();
  }

  // The time of all chunks. `out`: the time in which the readers copy the result of a chunk; they wait out_flags_us for
  // the flag of the first one.
  Terms total(double chunks, int depth, const Terms& out, double out_flags_us) const {
    const Terms whole = first_ + out + flags(out_flags_us);
    Terms interval = busiest_ + out + flags(on_.look_us());
    interval.flags_us += std::max(on_.us(outgoing_.most()) - interval.total_us(), 0.0);
    const double rings = std::floor((chunks - 1) / depth);
    const double ring_us = whole.total_us() + on_.flag_us(on_.farthest());
    return whole + (chunks - 1) * interval + flags(rings * std::max(ring_us - depth * interval.total_us(), 0.0));
  }

 private:
  Terms after(const std::vector<Terms>& end, int maker, int rank) const {
    return end[size_t(maker)] + flags(on_.flag_us(on_.hierarchy().distance(maker, rank)));
  }
  Terms copy_in(int rank) {
    const int holder = holder_of(rank);
    outgoing_.add(rank, holder, bytes_);
    return parts_ * (on_.copy_to(bytes_ / parts_, on_.hierarchy().distance(rank, holder)) + flags(on_.step_us()));
  }
  Terms join(int rank, const std::vector<JoinedBlock>& blocks) {
    std::vector<Distance> distances;
    for (const JoinedBlock& block : blocks) {
      const int holder = holder_of(block.first);
      distances.push_back(on_.hierarchy().distance(rank, holder));
      outgoing_.add(holder, rank, bytes_);
    }
    // The result replaces that of the first block.
    const int to = holder_of(blocks.front().first);
    outgoing_.add(rank, to, bytes_);
    const Terms one = on_.combine(bytes_ / parts_, distances, on_.hierarchy().distance(rank, to));
    return parts_ * (one + flags(on_.step_us()));
  }

  const Setting& on_;
  const double bytes_;
  const int parts_;
  Outgoing outgoing_;
  Terms first_, busiest_;
};

}  // namespace

// The root is rank 0, which copies the result from its own slot.
Terms reduce_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const Passes passes(bytes, knobs.chunk_bytes);
  const double flag_us = on.flag_us(on.hierarchy().distance(0, on.ranks() - 1));
  return InOrderTree(on, passes.bytes, 1)
      .total(passes.number, knobs.depth, transfer(on.memcpy_us(passes.bytes)), flag_us + on.step_us());
}

// All ranks but the last copy the result from the slot of rank 0.
Terms allreduce_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const Passes passes(bytes, knobs.chunk_bytes);
  const Terms out = on.copy(passes.bytes, on.ranks() - 1, on.farthest(), true);
  return InOrderTree(on, passes.bytes, 1).total(passes.number, knobs.depth, out, on.tiny_bcast_us() + on.step_us());
}

// Each block is a part of its own, and each rank but the last copies its block from the slot of rank 0.
Terms reduce_scatter_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  const Passes passes(bytes, knobs.chunk_bytes);
  return InOrderTree(on, passes.bytes, p)
      .total(passes.number, knobs.depth, on.copy(passes.bytes / p, p - 1), on.tiny_bcast_us() + on.step_us());
}

}  // namespace coll::model
