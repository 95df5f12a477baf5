// SPDX-License-Identifier: BSD-3-Clause
// rabenseifner: in step t ranks whose numbers differ in bit t-1 exchange halves of what they still work on, and each
// adds the other's to its own (recursive halving); an allreduce then exchanges finished shares in the opposite order
// (recursive doubling). As between processes that exchange messages, a rank receives (copies) what it adds. Neighbours
// come first, so that every partial result is of consecutive ranks: right for non-commutative operations.
//
// Vector bytes touched in all, p a power of two: allreduce 7p(1/2+1/4+...+1/p), reduce-scatter 5p(1/2+1/4+...+1/p)
// (YHCCL Tables 1 and 2; the last term is printed 1/log p there).
//
// Ranks that a power of two leaves over are folded, as in recursive doubling: the first pairs of ranks become one number
// each; the odd rank of a pair gives its input to the even one and takes its result from there.
#include <bit>
#include <optional>

#include "algo/families.h"
#include "algo/shares.h"

namespace coll::algo {
namespace {

class Rabenseifner {
 public:
  Rabenseifner(const Request& request, Collective what)
      : everywhere_(what == Collective::allreduce),
        ranks_(request.hierarchy->ranks()),
        numbers_(int(std::bit_floor(unsigned(ranks_)))),
        steps_(std::countr_zero(unsigned(numbers_))),
        pairs_(ranks_ - numbers_),
        b_(start(what, "rabenseifner", request)),
        shares_(b_, what, request, everywhere_ ? numbers_ : ranks_, 2),
        input_(shares_.window(b_, Buffer::send)),
        partial_(shares_.window(b_, Buffer::none)),
        received_(shares_.box(b_)),
        result_(everywhere_ ? shares_.window(b_, Buffer::recv) : shares_.box(b_, shares_.depth())),
        taken_(b_.flag()) {
    if (ranks_ > 2) b_.tree_order();
    if (everywhere_) b_.synchronizing();
    for (int step = 0; step < steps_; ++step) {
      added_.push_back(b_.flag());
      fetched_.push_back(everywhere_ ? b_.flag() : uint16_t(0));
    }
    for (int step = 0; step <= steps_; ++step)
      for (int number = 0; number < 1 << step; ++number) halves_.push_back(make_half(number, step));
  }

  Plan make() {
    for (int rank : b_.ranks()) {
      if (is_folded(rank)) {
        give(rank);
        take(rank);
      } else {
        supply(rank);
        add(rank);
        if (everywhere_) fetch(rank);
      }
    }
    return b_.finish();
  }

 private:
  // ---- numbers ----
  int rank_of(int number) const { return number < pairs_ ? 2 * number : number + pairs_; }
  int number_of(int rank) const { return rank < 2 * pairs_ ? rank / 2 : rank - pairs_; }
  bool is_paired(int rank) const { return rank < 2 * pairs_; }
  bool is_folded(int rank) const { return is_paired(rank) && rank % 2 == 1; }
  int partner(int rank, int step) const { return rank_of(number_of(rank) ^ (1 << (step - 1))); }

  // ---- what a number still works on after a step: the shares of the numbers that agree with it in the lowest bits ----
  struct Part {
    uint16_t range;
    int share;  // whose block it is
  };
  using Half = std::vector<Part>;

  Half make_half(int number, int step) {
    Half half;
    if (everywhere_) {
      // Slices lie in the order of reversed bits, so that what agrees in the lowest ones lies together.
      int first = 0;
      for (int bit = 0; bit < step; ++bit) first |= (number >> bit & 1) << (steps_ - 1 - bit);
      half.push_back({b_.range({.sub = uint16_t(first),
                                .subs = uint16_t(numbers_),
                                .span = uint16_t(numbers_ >> step),
                                .chunk_bytes = shares_.ring().chunk_bytes}),
                      0});
    } else {
      for (int rank = 0; rank < ranks_; ++rank)
        if ((number_of(rank) & ((1 << step) - 1)) == number) half.push_back({shares_.of(rank), rank});
    }
    return half;
  }
  const Half& half(int rank, int step) const {
    return halves_[size_t((1 << step) - 1 + (number_of(rank) & ((1 << step) - 1)))];
  }

  // Which flag says that a rank has what it shows in step 1, and what that is.
  uint16_t ready(int rank) const { return is_paired(rank) ? partial_.flag : input_.flag; }
  Operand shown(int rank, int step, int share) const {
    return step == 1 && !is_paired(rank) ? shares_.in(input_, rank, share) : shares_.in(partial_, rank, share);
  }

  // ---- the odd ranks of pairs ----
  void give(int rank) {
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, shares_.all());
    lane.loop(shares_.all());
    lane.wait(rank - 1, partial_.flag, pass_before(shares_.depth()), input_.staged());
    shares_.stage(lane, rank, input_, input_.staged());
    lane.post(input_.flag, this_pass(), input_.staged()).end();
    lane.wait(rank - 1, partial_.flag, all_passes(shares_.all()), input_.direct());
  }
  void take(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    lane.wait(rank - 1, result_.flag, this_pass());
    if (everywhere_) lane.wait(rank - 1, all_fetched(), this_pass());
    lane.copy(everywhere_ ? shares_.all() : shares_.of(rank), own_recv(), result_.of(rank - 1), {}, false);
    lane.post(taken_, this_pass()).end();
  }

  // ---- all others ----
  void supply(int rank) {
    if (is_paired(rank)) return;  // shows the sum of both
    const int reader = partner(rank, 1);
    LaneBuilder lane = b_.lane(rank);
    input_.announce(lane, shares_.all());
    lane.loop(shares_.all());
    lane.wait(reader, added_[0], pass_before(shares_.depth()), input_.staged());
    for (const Part& part : half(reader, 1))
      lane.copy(part.range, shares_.in(input_, rank, part.share), shares_.send(part.share), input_.staged());
    lane.post(input_.flag, this_pass(), input_.staged()).end();
    lane.wait(reader, added_[0], all_passes(shares_.all()), input_.direct());
  }

  void add(int rank) {
    LaneBuilder lane = b_.lane(rank);
    if (everywhere_) result_.publish(lane);
    lane.loop(shares_.all());
    for (int step = is_paired(rank) ? 1 : 2; step <= steps_; ++step)
      lane.wait(partner(rank, step), added_[size_t(step) - 1], pass_before(shares_.depth()));
    if (is_paired(rank)) {
      lane.wait(rank + 1, input_.flag, this_pass());
      for (const Part& part : half(rank, 0))
        add_received(lane, part, shares_.send(part.share), shares_.in(input_, rank + 1, part.share), true,
                     {shares_.in(partial_, rank, part.share)}, rank);
      lane.post(partial_.flag, this_pass());
    }
    for (int step = 1; step < steps_; ++step) {
      const int other = partner(rank, step);
      lane.wait(other, step == 1 ? ready(other) : added_[size_t(step) - 2], this_pass());
      for (const Part& part : half(rank, step))
        add_received(lane, part, mine(rank, step, part.share), shown(other, step, part.share), rank < other,
                     {shares_.in(partial_, rank, part.share)}, rank);
      lane.post(added_[size_t(step) - 1], this_pass());
    }
    finish(lane, rank);
    lane.end();
    if (everywhere_) wait_for_readers(lane, rank, all_passes(shares_.all()), result_.direct());
  }
  Operand mine(int rank, int step, int share) const {
    return step == 1 && !is_paired(rank) ? shares_.send(share) : shares_.in(partial_, rank, share);
  }
  void add_received(LaneBuilder& lane, const Part& part, Operand own, Operand other, bool own_first,
                    const std::vector<Operand>& to, int rank, Only only = {}) const {
    const Operand received = received_.of(rank), sources[] = {own_first ? own : received, own_first ? received : own};
    lane.copy(part.range, received, other, only).reduce(part.range, to, sources, only);
  }

  // The last step makes the results of my number.
  void finish(LaneBuilder& lane, int rank) {
    const int other = partner(rank, steps_);
    const Only staged = everywhere_ ? result_.staged() : Only{};
    wait_for_readers(lane, rank, pass_before(shares_.depth()), staged);
    // My own other lane is done with the slot, too: its slices may have had other borders in that pass.
    if (everywhere_) lane.wait(rank, all_fetched(), pass_before(shares_.depth()), staged);
    lane.wait(other, steps_ == 1 ? ready(other) : added_[size_t(steps_) - 2], this_pass());
    for (const Part& part : half(rank, steps_)) {
      const auto step = [&](const std::vector<Operand>& to, Only only) {
        add_received(lane, part, mine(rank, steps_, part.share), shown(other, steps_, part.share), rank < other, to,
                     rank, only);
      };
      if (everywhere_) {
        step({own_recv(), result_.of(rank)}, result_.staged());
        step({own_recv()}, result_.direct());
      } else {
        step({part.share == rank ? own_recv() : result_.of(rank)}, {});
      }
    }
    lane.post(added_.back(), this_pass());
    lane.post(result_.flag, this_pass());
  }

  // Who reads my results says so.
  void wait_for_readers(LaneBuilder& lane, int rank, Value value, Only only) const {
    if (everywhere_)
      for (int step = 1; step <= steps_; ++step)
        lane.wait(partner(rank, step), fetched_[size_t(step) - 1], value, only);
    if (is_paired(rank)) lane.wait(rank + 1, taken_, value, only);
  }

  uint16_t all_fetched() const { return fetched_.front(); }
  void fetch(int rank) {
    LaneBuilder lane = b_.lane(rank);
    lane.loop(shares_.all());
    lane.wait(rank, result_.flag, this_pass());
    for (int step = steps_; step >= 1; --step) {
      const int other = partner(rank, step);
      lane.wait(other, result_.flag, this_pass());
      if (step < steps_) lane.wait(other, fetched_[size_t(step)], this_pass());
      for (const Part& part : half(other, step)) {
        lane.copy2(part.range, own_recv(), result_.of(rank), result_.of(other), result_.staged());
        lane.copy(part.range, own_recv(), result_.of(other), result_.direct());
      }
      lane.post(fetched_[size_t(step) - 1], this_pass());
    }
    lane.end();
  }

  const bool everywhere_;
  const int ranks_, numbers_, steps_, pairs_;
  Builder b_;
  const Shares shares_;
  const Window input_, partial_, received_, result_;  // a reduce-scatter's result is that of the pair's other rank
  const uint16_t taken_;
  std::vector<uint16_t> added_, fetched_;  // by step, from 1
  std::vector<Half> halves_;               // by step and the lowest bits of the number
};

}  // namespace

Plan rabenseifner(const Request& request, Collective what) {
  if (request.hierarchy->ranks() == 1) return alone(what, "rabenseifner", request);
  return Rabenseifner(request, what).make();
}

}  // namespace coll::algo
