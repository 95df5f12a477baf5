// SPDX-License-Identifier: BSD-3-Clause
// The verifier's observer (machine.h): executes steps on symbolic memory and reports the first fault. With `ordering`
// it also keeps vector clocks and requires that conflicting accesses are ordered; such a run is complete but slower.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/expression.h"
#include "plan/layout.h"
#include "plan/machine.h"
#include "plan/order.h"
#include "plan/schedule.h"
#include "plan/verify.h"

namespace coll::plan {

class Verification {
 public:
  Verification(const Layout& layout, Machine& machine, Expressions& expressions, Order& order);

  // Prepares a run: the decisions that the owners will take, [rank * views + view], and whether to keep clocks.
  void begin(const std::vector<Decision>& decisions, bool ordering);

  // Runs until no lane can advance; returns false if a step failed.
  bool watch(const Schedule& schedule);

  // The observer's functions (machine.h).
  bool publish(const LaneState& lane, const Step& step);
  bool transfer(const LaneState& lane, const Step& step, const Extent& extent);
  bool post(const LaneState& lane, const Step& step, uint32_t flag, int64_t value);
  bool met(const LaneState& lane, const Step& step, uint32_t flag, int64_t value);
  bool owns(const LaneState& lane, const Step& step, bool& runs);

  // The checks after a run in which every lane ended: no rank may still use a buffer of a rank that has ended, claims
  // hold, inputs are unchanged, results are as defined. Each returns false and sets problem() if its check fails.
  bool check_ends();
  bool check_synchronizing();
  bool check_contents();
  // Returns true if every lane has ended; otherwise sets problem() to the reason.
  bool report_deadlock();

  const std::string& problem() const { return problem_; }
  bool synchronizes() const { return synchronizes_; }
  // The loosest association of all elements so far.
  Association association() const { return association_; }

 private:
  struct Value {
    Expression expression = 0;
    uint32_t element = 0;
    friend bool operator==(const Value&, const Value&) = default;
  };

  bool fail(const LaneState& lane, const std::string& what);
  bool fail(const LaneState& lane, const Operand& operand, Fault fault);
  bool fail(const LaneState& lane, const Order::Conflict& conflict, bool writes);
  std::string where(const LaneState& lane) const;
  std::string where(Epoch epoch) const;
  bool clocked(const LaneState& lane);  // notes the beginning of a step; false if the run is too long
  // Executes one block of a copy, or a reduction; operands are the destinations, then the sources.
  bool transfer(const LaneState& lane, const Step& step, const Operand* operands, const Extent& extent);
  // a[i] = a[i] op b[i]
  bool combine(const LaneState& lane, Value* a, const Value* b, size_t length);
  bool may_use(const LaneState& lane, const Operand& operand);
  bool defined(const LaneState& lane, size_t cell, size_t cells);
  bool store(const LaneState& lane, size_t cell, const Value* values, size_t cells);
  bool open_access(const LaneState& lane, int owner);
  bool check_inputs(int rank);
  bool check_results(int rank);
  bool check_same_bits(int rank);
  bool check_result(int rank, size_t cell, Value expected, int folded);
  Expression initial(int rank) const;
  uint32_t element(Buffer buffer, int rank, size_t block, size_t i) const;
  // Calls visit(block, first cell, cells) for every block of a buffer, or once with block 0 if it has no blocks; stops
  // at the first false and returns it.
  template <class Visit>
  bool for_blocks(Buffer buffer, int rank, Visit visit) const;

  const Layout* layout_;
  const Plan* plan_;
  Machine* machine_;
  Expressions* expressions_;
  bool ordering_ = false;
  std::vector<Decision> planned_;    // [rank * views + view]
  std::vector<Decision> decisions_;  // [rank * views + view], undecided until published
  std::vector<uint8_t> publishes_;   // [rank * views + view]: the rank has a step that publishes the view
  std::vector<Epoch> published_;
  std::vector<uint32_t> learned_;  // [lane * flags of all ranks + flag]: time of the first wait that was met
  std::vector<std::vector<uint16_t>> announced_by_;  // views by flag
  std::vector<std::vector<Epoch>> open_;  // throttled plans: by owner, chains of ordered accesses to its buffers
  std::vector<Value> memory_;
  std::vector<std::vector<Value>> partials_;  // reduction: partial results that are not combined yet
  Order& order_;
  int64_t last_value_ = 0;
  bool synchronizes_ = false;
  Association association_ = Association::balanced;
  std::string problem_;
};

template <class Visit>
bool Verification::for_blocks(Buffer buffer, int rank, Visit visit) const {
  const size_t first = buffer == Buffer::send ? layout_->send(rank) : layout_->recv(rank);
  if (!has_blocks(plan_->collective, buffer)) return visit(0, first, layout_->cells(buffer, rank));
  for (size_t block = 0; block < size_t(plan_->ranks); ++block) {
    const size_t cells = buffer == Buffer::send ? layout_->shape().piece(size_t(rank), block)
                                                : layout_->shape().piece(block, size_t(rank));
    if (!visit(block, first + layout_->block(buffer, rank, block), cells)) return false;
  }
  return true;
}

}  // namespace coll::plan
