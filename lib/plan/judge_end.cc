// SPDX-License-Identifier: BSD-3-Clause
// What the judge says after a run: nobody is left waiting, ranks left in time, claims hold, results are as defined.
#include <algorithm>

#include "plan/judge.h"
#include "plan/words.h"

namespace coll::plan {

bool Judge::report_deadlock() {
  std::string out = "deadlock: ";
  int told = 0, left = 0;
  for (const LaneState& lane : machine_->lanes()) {
    if (lane.ended()) continue;
    if (++left > 4) continue;
    const Step& step = lane.step();
    if (told++ != 0) out += "; ";
    out += where(lane) + " needs " + std::to_string(lane.need) + ", the flag stands at " +
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

bool Judge::check_ends() {
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    uint32_t first = machine_->first_lane(rank), lanes = machine_->lanes_of(rank);
    for (Buffer buffer : {Buffer::send, Buffer::recv}) {
      if (!layout_->has(buffer, rank)) continue;
      size_t cell = buffer == Buffer::send ? layout_->send(rank) : layout_->recv(rank);
      auto conflict = order_.unfinished(first, lanes, uint32_t(cell), layout_->count());
      if (conflict.epoch == 0) continue;
      problem_ = "rank " + std::to_string(rank) + " may end while " + layout_->describe(conflict.cell) + " is still " +
                 (conflict.write ? "written" : "read") + " by " + where(conflict.epoch);
      return false;
    }
  }
  return true;
}

bool Judge::check_synchronizing() {
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

bool Judge::check_result(int rank, size_t element, Value value, Expression expected) {
  auto wrong = [&](const std::string& what) {
    problem_ =
        "wrong result: recv of rank " + std::to_string(rank) + ", element " + std::to_string(element) + " " + what;
    return false;
  };
  if (value.expression == 0) return wrong("is undefined");
  if (value.element != element) return wrong("holds element " + std::to_string(value.element));
  if (value.expression == expected) return true;
  std::string is = "is " + expressions_->text(value.expression);
  if (plan_->collective == Collective::bcast) return wrong(is + ", not the root's");
  if (!expressions_->complete(value.expression))
    return wrong(is + ", which does not combine every rank's input exactly once");
  if (plan_->rank_order) return wrong(is + ", not the left fold in rank order that the plan claims");
  association_ = std::max(association_, expressions_->in_order(value.expression) ? 1 : 2);
  return true;
}

bool Judge::check_contents() {
  bool bcast = plan_->collective == Collective::bcast;
  Expression expected = bcast ? Expressions::input(plan_->root) : expressions_->left_fold();
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    bool result = layout_->has_recv(rank);
    if (Expression input = initial(rank); input != 0 && !(result && layout_->aliased(rank)))
      for (size_t i = 0; i < layout_->count(); ++i)
        if (memory_[layout_->send(rank) + i] != Value{input, uint32_t(i)}) {
          problem_ = "wrong result: the input of rank " + std::to_string(rank) + ", element " + std::to_string(i) +
                     " was changed";
          return false;
        }
    if (!result) continue;
    for (size_t i = 0; i < layout_->count(); ++i) {
      Value value = memory_[layout_->recv(rank) + i];
      if (!check_result(rank, i, value, expected)) return false;
      if (plan_->collective != Collective::allreduce || rank == 0) continue;
      Value first = memory_[layout_->recv(0) + i];
      if (value.expression != first.expression &&
          expressions_->unordered(value.expression) != expressions_->unordered(first.expression)) {
        problem_ = "wrong result: element " + std::to_string(i) + " is " + expressions_->text(first.expression) +
                   " at rank 0 but " + expressions_->text(value.expression) + " at rank " + std::to_string(rank) +
                   ", which may differ in the last bits";
        return false;
      }
    }
  }
  return true;
}

}  // namespace coll::plan
