// SPDX-License-Identifier: BSD-3-Clause
// rabenseifner: in step t ranks whose numbers differ in bit t-1 exchange halves of the part that they still work on,
// and each adds the other's half to its own (recursive halving); an allreduce then exchanges finished shares in the
// opposite order (recursive doubling). As between processes that exchange messages, a rank receives (copies) what it
// adds. Neighbours come first, so that every partial result is a node of the balanced order.
//
// A number of ranks that is not a power of two is split into aligned blocks by its binary digits, the largest first: 13
// into 8, 4 and 1. Halving takes place inside every block. The balanced order then joins the blocks from the right, B1
// op (B2 op (B3 ...)). In every block ranks own the shares that agree with them in the lowest bits, so a rank reads the
// next, smaller block's result of its shares from the rank that owns the same ones there. An allreduce ends at the
// largest block, and a rank of another block begins its doubling with its part from there. A share of a reduce-scatter
// is joined up to the block of its own rank, which then reads the larger blocks' results of this one share. All this
// takes no more steps than the next power of two does.
//
// Bytes loaded and stored by all ranks together, in multiples of the vector, for any p: allreduce 7(p-1), reduce-scatter
// 5(p-1). For powers of two these are
// 7p(1/2+1/4+...+1/p) and 5p(1/2+1/4+...+1/p) (YHCCL Tables 1 and 2; the last term is printed 1/log p there).
#include <bit>
#include <optional>

#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

// A block of ranks, not of elements: first .. first+size-1; the size is a power of two and divides `first`.
struct Block {
  int first, size;
  int end() const { return first + size; }
  int steps() const { return std::countr_zero(unsigned(size)); }
};

class Rabenseifner {
 public:
  Rabenseifner(const PlanRequest& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        ranks_(request.hierarchy->ranks()),
        largest_(block_of(0)),
        b_(start(what, "rabenseifner", request)),
        shares_(b_, what, request, everywhere_ ? largest_.size : ranks_, 2),
        input_(shares_.window(b_, Buffer::send)),
        partial_(shares_.window(b_, Buffer::none)),
        received_(shares_.box(b_)),
        joined_(b_.flag()),
        consumed_(b_.flag()) {
    if (everywhere_) {
      result_.emplace(shares_.window(b_, Buffer::recv));
      b_.synchronizing();
    }
    for (int step = 0; step < largest_.steps(); ++step) {
      added_.push_back(b_.flag());
      if (everywhere_) fetched_.push_back(b_.flag());
    }
    for (int step = 0; step <= largest_.steps(); ++step)
      for (int bits = 0; bits < 1 << step; ++bits) halves_.push_back(make_half(bits, step));
  }

  // A rank has a lane each for its input, for the sums and, in an allreduce, for the results.
  Plan make() {
    for (int rank : b_.ranks()) {
      supply(rank);
      if (!everywhere_ || !is_single(rank)) add(rank);
      if (everywhere_) fetch(rank);
    }
    return b_.finish();
  }

 private:
  // ---- blocks ----
  Block block_of(int rank) const {
    const unsigned size = std::bit_floor(unsigned(ranks_ ^ rank));  // the highest digit where the two differ
    return {int(unsigned(ranks_) & ~(2 * size - 1)), int(size)};
  }
  bool is_single(int rank) const { return block_of(rank).size == 1; }
  bool in_largest(int rank) const { return rank < largest_.size; }
  bool in_last(int rank) const { return block_of(rank).end() == ranks_; }
  static int partner(int rank, int step) { return rank ^ (1 << (step - 1)); }

  // next() is the rank of the next block that owns the same shares as `rank`; joiners() are the ranks of the previous
  // block that join this rank's result. REQUIRES of next(): !in_last(rank).
  int next(int rank) const {
    const Block block = block_of(block_of(rank).end());
    return block.first + rank % block.size;
  }
  std::vector<int> joiners(int rank) const {
    std::vector<int> all;
    if (in_largest(rank)) return all;
    const Block mine = block_of(rank), before = block_of(mine.first - 1);
    for (int joiner = before.first + rank % mine.size; joiner < before.end(); joiner += mine.size)
      all.push_back(joiner);
    return all;
  }
  // The rank of a later block that reads from this one the result of its block, or in an allreduce the final result.
  std::optional<int> result_reader(int rank) const {
    const int reader = rank + block_of(rank).size;
    return reader < ranks_ && (in_largest(rank) || !everywhere_) ? std::optional(reader) : std::nullopt;
  }

  // ---- the part that a rank works on after a step: the shares of the ranks that agree with it in the lowest bits ----
  struct Part {
    uint16_t range;
    int share;  // reduce-scatter: the rank that receives it; allreduce: 0, not used
  };
  using Half = std::vector<Part>;

  Half make_half(int bits, int step) {
    Half half;
    if (everywhere_) {
      // Slices are in the order of reversed bits, so that shares that agree in the lowest bits are adjacent.
      int first = 0;
      for (int bit = 0; bit < step; ++bit) first |= (bits >> bit & 1) << (largest_.steps() - 1 - bit);
      half.push_back({b_.range({.sub = uint16_t(first),
                                .subs = uint16_t(largest_.size),
                                .span = uint16_t(largest_.size >> step),
                                .chunk_bytes = shares_.ring().chunk_bytes}),
                      0});
    } else {
      for (int rank = bits; rank < ranks_; rank += 1 << step) half.push_back({shares_.of(rank), rank});
    }
    return half;
  }
  const Half& half(int rank, int step) const {
    const int count = 1 << step;
    return halves_[size_t(count - 1 + rank % count)];
  }
  const Half& owned(int rank) const { return half(rank, block_of(rank).steps()); }

  // ---- the rank's input: half of it for its partner, or all of it for the ranks that join a block of one ----
  void supply(int rank) {
    const bool single = is_single(rank);
    LaneBuilder lane = b_.lane(rank);
    const auto wait_for_readers = [&](Value value, Only only) {
      if (single) wait_each(lane, joiners(rank), joined_, value, only);
      else lane.wait(partner(rank, 1), added_[0], value, only);
    };
    input_.announce(lane, shares_.all());
    lane.loop(shares_.all());
    wait_for_readers(iteration_before(shares_.depth()), input_.staged());
    for (const Part& part : single ? half(rank, 0) : half(partner(rank, 1), 1))
      if (everywhere_ || part.share != rank)
        lane.copy(part.range, shares_.in(input_, rank, part.share), shares_.send(part.share), input_.staged());
    lane.post(input_.flag, this_iteration(), input_.staged()).end();
    wait_for_readers(all_iterations(shares_.all()), input_.direct());
  }

  // ---- sums ----
  void add(int rank) {
    const Block block = block_of(rank);
    LaneBuilder lane = b_.lane(rank);
    if (everywhere_ && in_largest(rank)) result_->publish(lane);
    lane.loop(shares_.all());
    if (block.size > 1) wait_for_slot(lane, rank);
    for (int step = 1; step <= block.steps(); ++step) halve(lane, rank, step);
    if (!in_last(rank)) join(lane, rank);
    if (!everywhere_ && !in_largest(rank)) take_own(lane, rank);
    lane.end();
    if (everywhere_ && in_largest(rank))
      wait_for_result_readers(lane, rank, all_iterations(shares_.all()), result_->direct());
  }

  // Waits until the readers of the rank's partial results have finished with those in the slot.
  void wait_for_slot(LaneBuilder& lane, int rank) const {
    const Value value = iteration_before(shares_.depth());
    for (int step = 2; step <= block_of(rank).steps(); ++step)
      lane.wait(partner(rank, step), added_[size_t(step) - 1], value);
    wait_each(lane, joiners(rank), joined_, value);
    if (!everywhere_ && result_reader(rank)) lane.wait(*result_reader(rank), consumed_, value);
  }

  void halve(LaneBuilder& lane, int rank, int step) const {
    const int other = partner(rank, step);
    const bool last = step == block_of(rank).steps() && largest_.size == ranks_;
    if (last) wait_for_result_slot(lane, rank);
    lane.wait(other, step == 1 ? input_.flag : added_[size_t(step) - 2], this_iteration());
    for (const Part& part : half(rank, step)) {
      const Operand mine = step == 1 ? shares_.send(part.share) : shares_.in(partial_, rank, part.share);
      const Operand others = shares_.in(step == 1 ? input_ : partial_, other, part.share);
      add_received(lane, rank, part, mine, others, rank < other, last);
    }
    lane.post(added_[size_t(step) - 1], this_iteration());
    if (last) post_result(lane);
  }

  // Joins the rank's part of its block's result, except the shares of ranks of later blocks, with that of the blocks to
  // the right.
  void join(LaneBuilder& lane, int rank) const {
    const int other = next(rank);
    const bool last = in_largest(rank), single = is_single(other);
    if (last) wait_for_result_slot(lane, rank);
    lane.wait(other, single ? input_.flag : in_last(other) ? added_of_block(other) : joined_, this_iteration());
    for (const Part& part : owned(rank))
      if (part.share < block_of(rank).end())
        add_received(lane, rank, part, shares_.in(partial_, rank, part.share),
                     shares_.in(single ? input_ : partial_, other, part.share), true, last);
    lane.post(joined_, this_iteration());
    if (last) post_result(lane);
  }
  // REQUIRES: the rank's block has several ranks.
  uint16_t added_of_block(int rank) const { return added_[size_t(block_of(rank).steps()) - 1]; }

  // Reduce-scatter: joins the larger blocks' results of the rank's own share, from the right.
  void take_own(LaneBuilder& lane, int rank) const {
    Operand mine = is_single(rank) ? shares_.send(rank) : shares_.in(partial_, rank, rank);
    for (int end = block_of(rank).first; end > 0; end = block_of(end - 1).first) {
      const int other = rank - block_of(end - 1).size;  // result_reader(other) == rank
      lane.wait(other, added_of_block(other), this_iteration());
      add_received(lane, rank, {shares_.of(rank), rank}, mine, shares_.in(partial_, other, rank), false,
                   in_largest(other));
      mine = shares_.in(partial_, rank, rank);
    }
    lane.post(consumed_, this_iteration());
  }

  // `last`: the combination is the final result.
  void add_received(LaneBuilder& lane, int rank, const Part& part, Operand own, Operand other, bool own_first,
                    bool last) const {
    const Operand received = received_.of(rank), sources[] = {own_first ? own : received, own_first ? received : own};
    lane.copy(part.range, received, other);
    const Operand to[] = {last ? own_recv() : shares_.in(partial_, rank, part.share)};
    if (!last || !everywhere_) return void(lane.reduce(part.range, to, sources));
    const Operand both[] = {own_recv(), result_->of(rank)};
    lane.reduce(part.range, both, sources, result_->staged()).reduce(part.range, to, sources, result_->direct());
  }

  // ---- results of an allreduce ----
  void post_result(LaneBuilder& lane) const {
    if (everywhere_) lane.post(result_->flag, this_iteration());
  }
  void wait_for_result_readers(LaneBuilder& lane, int rank, Value value, Only only) const {
    for (int step = 1; step <= block_of(rank).steps(); ++step)
      lane.wait(partner(rank, step), fetched_[size_t(step) - 1], value, only);
    if (result_reader(rank)) lane.wait(*result_reader(rank), consumed_, value, only);
  }
  void wait_for_result_slot(LaneBuilder& lane, int rank) const {
    if (!everywhere_) return;
    wait_for_result_readers(lane, rank, iteration_before(shares_.depth()), result_->staged());
    // The rank's own fetch() has finished with the slot, too: its slices may have had other borders in that iteration.
    lane.wait(rank, fetched_[0], iteration_before(shares_.depth()), result_->staged());
  }

  void fetch(int rank) {
    const int steps = block_of(rank).steps();
    LaneBuilder lane = b_.lane(rank);
    if (!in_largest(rank) && steps > 0) result_->publish(lane);
    lane.loop(shares_.all());
    if (in_largest(rank)) lane.wait(rank, result_->flag, this_iteration());
    else read_result(lane, rank);
    for (int step = steps; step >= 1; --step) {
      const int other = partner(rank, step);
      lane.wait(other, result_->flag, this_iteration());
      if (step < steps) lane.wait(other, fetched_[size_t(step)], this_iteration());
      fetch_half(lane, rank, half(other, step), other);
      lane.post(fetched_[size_t(step) - 1], this_iteration());
    }
    lane.end();
    if (!in_largest(rank)) wait_for_result_readers(lane, rank, all_iterations(shares_.all()), result_->direct());
  }
  void fetch_half(LaneBuilder& lane, int rank, const Half& half, int other) const {
    for (const Part& part : half) {
      lane.copy2(part.range, own_recv(), result_->of(rank), result_->of(other), result_->staged());
      lane.copy(part.range, own_recv(), result_->of(other), result_->direct());
    }
  }

  // Reads the part of the final result that the rank owns in its block. A rank of the largest block has it after some
  // of its own doubling steps.
  void read_result(LaneBuilder& lane, int rank) const {
    const int other = rank - largest_.size, steps = block_of(rank).steps();  // result_reader(other) == rank
    wait_for_result_readers(lane, rank, iteration_before(shares_.depth()), result_->staged());
    lane.wait(other, result_->flag, this_iteration());
    lane.wait(other, fetched_[size_t(steps)], this_iteration());
    if (steps > 0) fetch_half(lane, rank, owned(rank), other);
    else lane.copy_result(shares_.all(), own_recv(), result_->of(other));
    lane.post(consumed_, this_iteration());
    if (steps > 0) lane.post(result_->flag, this_iteration());
  }

  const bool everywhere_;
  const int ranks_;
  const Block largest_;
  Builder b_;
  const Shares shares_;
  const StagedView input_, partial_, received_;
  const uint16_t joined_;    // the rank has joined its part with the next block's
  const uint16_t consumed_;  // the rank has read the larger block's result
  std::optional<StagedView> result_;
  std::vector<uint16_t> added_, fetched_;  // [t - 1]: the rank has completed step t
  std::vector<Half> halves_;               // by step and the lowest bits of the rank
};

}  // namespace

Plan rabenseifner(const PlanRequest& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "rabenseifner", request);
  return Rabenseifner(request, what).make();
}

}  // namespace coll::algo
