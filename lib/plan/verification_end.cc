// SPDX-License-Identifier: BSD-3-Clause
// The checks after a run: no lane is blocked, no rank ended too early, claims hold, results are as defined.
#include <algorithm>

#include "plan/verification.h"
#include "plan/words.h"

namespace coll::plan {

bool Verification::report_deadlock() {
  std::string out = "deadlock: ";
  int listed = 0, left = 0;
  for (const LaneState& lane : machine_->lanes()) {
    if (lane.ended()) continue;
    if (++left > 4) continue;
    const Step& step = lane.step();
    if (listed++ != 0) out += "; ";
    out += where(lane) + " needs " + std::to_string(lane.need) + ", the flag is at " +
           std::to_string(machine_->flag(uint32_t(step.rank) * plan_->flags + step.flag));
    bool ended = true;
    for (uint32_t l = machine_->first_lane(step.rank);
         l < machine_->first_lane(step.rank) + machine_->lanes_of(step.rank); ++l)
      ended = ended && machine_->lanes()[l].ended();
    if (ended) out += " and rank " + std::to_string(step.rank) + " has ended";
  }
  if (left == 0) return true;
  if (left > 4) out += "; and " + std::to_string(left - 4) + " more lanes wait";
  problem_ = out;
  return false;
}

bool Verification::check_ends() {
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    uint32_t first = machine_->first_lane(rank), lanes = machine_->lanes_of(rank);
    for (Buffer buffer : {Buffer::send, Buffer::recv}) {
      if (!layout_->has(buffer, rank)) continue;
      size_t cell = buffer == Buffer::send ? layout_->send(rank) : layout_->recv(rank);
      auto conflict = order_.unfinished(first, lanes, uint32_t(cell), layout_->cells(buffer, rank));
      if (conflict.epoch == 0) continue;
      problem_ = "rank " + std::to_string(rank) + " may end while " + layout_->describe(conflict.cell) + " is still " +
                 (conflict.write ? "written" : "read") + " by " + where(conflict.epoch);
      return false;
    }
  }
  return true;
}

bool Verification::check_synchronizing() {
  synchronizes_ = true;
  for (int rank = 0; rank < plan_->ranks; ++rank)
    for (int other = 0; other < plan_->ranks; ++other) {
      if (rank == other) continue;
      if (order_.after(machine_->first_lane(rank), machine_->lanes_of(rank), machine_->first_lane(other),
                       machine_->lanes_of(other)))
        continue;
      synchronizes_ = false;
      if (!plan_->synchronizing && plan_->collective != Collective::barrier) return true;
      problem_ = "rank " + std::to_string(rank) + " may end before rank " + std::to_string(other) +
                 " has started, but " +
                 (plan_->synchronizing ? "the plan claims to synchronize" : "a barrier must synchronize");
      return false;
    }
  return true;
}

// `folded` is the number of ranks, from 0, whose inputs are reduced; 0 if the element is not a reduction's result.
bool Verification::check_result(int rank, size_t cell, Value expected, int folded) {
  auto wrong = [&](const std::string& what) {
    problem_ = "wrong result: " + layout_->describe(cell) + ", where rank " + std::to_string(rank) +
               "'s result belongs, " + what;
    return false;
  };
  const Value value = memory_[cell];
  if (value.expression == 0) return wrong("is undefined");
  if (value.element != expected.element)
    return wrong("holds element " + std::to_string(value.element) + ", not " + std::to_string(expected.element));
  if (value.expression == expected.expression) return true;
  auto is = [&] { return "is " + expressions_->text(value.expression); };
  if (folded == 0) return wrong(is() + ", not the input of rank " + expressions_->text(expected.expression));
  if (!expressions_->complete(value.expression, folded))
    return wrong(is() + ", which does not combine the input of " +
                 (folded == plan_->ranks ? "every rank" : "ranks 0 to " + std::to_string(folded - 1)) +
                 " exactly once");
  if (plan_->balanced) return wrong(is() + ", not the balanced fold in rank order that the plan claims");
  association_ = Association::any_order;
  return true;
}

bool Verification::check_inputs(int rank) {
  const Expression input = initial(rank);
  // If the result replaces the input, check_results() checks the memory.
  if (input == 0 || (layout_->aliased(rank) && plan_->collective != Collective::scatter)) return true;
  return for_blocks(Buffer::send, rank, [&](size_t block, size_t cell, size_t cells) {
    for (size_t i = 0; i < cells; ++i)
      if (memory_[cell + i] != Value{input, element(Buffer::send, rank, block, i)}) {
        problem_ = "wrong result: the input of rank " + std::to_string(rank) + ", " + layout_->describe(cell + i) +
                   ", was changed";
        return false;
      }
    return true;
  });
}

bool Verification::check_results(int rank) {
  const Collective collective = plan_->collective;
  int folded = 0;
  if (collective == Collective::scan) folded = rank + 1;
  else if (collective == Collective::exscan) folded = rank;
  else if (is_reduction(collective)) folded = plan_->ranks;
  if (collective == Collective::exscan && rank == 0) {
    for (size_t i = 0; i < layout_->count(); ++i)
      if (!layout_->aliased(rank) && memory_[layout_->recv(rank) + i].expression != 0) {
        problem_ = "wrong result: rank 0 of an exscan receives nothing, but " +
                   layout_->describe(layout_->recv(rank) + i) + " was written";
        return false;
      }
    return true;
  }
  const bool from_root = collective == Collective::bcast || collective == Collective::scatter;
  return for_blocks(Buffer::recv, rank, [&](size_t block, size_t cell, size_t cells) {
    const Expression expected =
        folded != 0 ? expressions_->balanced_fold(0, folded) : Expressions::input(from_root ? plan_->root : int(block));
    for (size_t i = 0; i < cells; ++i)
      if (!check_result(rank, cell + i, {expected, element(Buffer::recv, rank, block, i)}, folded)) return false;
    return true;
  });
}

bool Verification::check_same_bits(int rank) {
  for (size_t i = 0; i < layout_->count(); ++i) {
    const Value value = memory_[layout_->recv(rank) + i], first = memory_[layout_->recv(0) + i];
    if (value.expression == first.expression ||
        expressions_->unordered(value.expression) == expressions_->unordered(first.expression))
      continue;
    problem_ = "wrong result: element " + std::to_string(i) + " is " + expressions_->text(first.expression) +
               " at rank 0 but " + expressions_->text(value.expression) + " at rank " + std::to_string(rank) +
               ", which may differ in the last bits";
    return false;
  }
  return true;
}

bool Verification::check_contents() {
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    if (!check_inputs(rank)) return false;
    if (layout_->has_recv(rank) && !check_results(rank)) return false;
    if (plan_->collective == Collective::allreduce && !check_same_bits(rank)) return false;
  }
  return true;
}

}  // namespace coll::plan
