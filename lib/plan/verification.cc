// SPDX-License-Identifier: BSD-3-Clause
#include "plan/verification.h"

#include <algorithm>
#include <cstring>

#include "plan/words.h"

namespace coll::plan {

Verification::Verification(const Layout& layout, Machine& machine, Expressions& expressions, Order& order)
    : layout_(&layout), plan_(&layout.plan()), machine_(&machine), expressions_(&expressions), order_(order) {
  size_t views = plan_->views.size();
  publishes_.resize(size_t(plan_->ranks) * views);
  for (int rank = 0; rank < plan_->ranks; ++rank)
    for (const Lane& lane : plan_->program(rank).lanes)
      for (const Step& step : lane.steps)
        if (step.kind == Kind::publish) publishes_[size_t(rank) * views + step.view] = 1;
  announced_by_.resize(plan_->flags);
  for (size_t v = 0; v < views; ++v)
    if (plan_->views[v].buffer != Buffer::none) announced_by_[plan_->views[v].flag].push_back(uint16_t(v));
  memory_.resize(layout.cells());
  last_value_ = int64_t(last_value(*plan_, layout.shape(), layout.element_bytes()));
}

Expression Verification::initial(int rank) const { return layout_->has_send(rank) ? Expressions::input(rank) : 0; }

// Elements are numbered through the vector, or through all pieces that a rank sends, in the order of receivers.
uint32_t Verification::element(Buffer buffer, int rank, size_t block, size_t i) const {
  if (!has_blocks(plan_->collective, Buffer::send)) return uint32_t(i);
  const size_t receiver = buffer == Buffer::send ? block : size_t(rank);
  return uint32_t(receiver * layout_->count() + i);
}

void Verification::begin(const std::vector<Decision>& decisions, bool ordering) {
  planned_ = decisions;
  decisions_.assign(decisions.size(), Decision::undecided);
  ordering_ = ordering;
  std::fill(memory_.begin(), memory_.end(), Value{});
  for (int rank = 0; rank < plan_->ranks; ++rank)
    if (Expression input = initial(rank))
      for_blocks(Buffer::send, rank, [&](size_t block, size_t cell, size_t cells) {
        for (size_t i = 0; i < cells; ++i) memory_[cell + i] = {input, element(Buffer::send, rank, block, i)};
        return true;
      });
  if (!ordering) return;
  if (plan_->throttle != 0) open_.assign(size_t(plan_->ranks), {});
  size_t lanes = machine_->lanes().size(), flags = size_t(plan_->ranks) * plan_->flags;
  order_.reset(lanes, layout_->cells(), flags);
  published_.assign(decisions.size(), 0);
  learned_.assign(lanes * flags, 0);
}

// ---- reports ------------------------------------------------------------------------------------------------

std::string Verification::where(const LaneState& lane) const {
  std::string out =
      "rank " + std::to_string(lane.rank) + " lane " + std::to_string(lane.lane) + " step " + std::to_string(lane.at);
  if (lane.index != 0) out += " pass " + std::to_string(lane.index + 1);
  return out + " {" + words(*plan_, lane.rank, lane.step()) + "}";
}

std::string Verification::where(Epoch epoch) const {
  return where(machine_->retrace(Order::lane_of(epoch), Order::time_of(epoch)));
}

bool Verification::fail(const LaneState& lane, const std::string& what) {
  problem_ = where(lane) + ": " + what;
  return false;
}

bool Verification::fail(const LaneState& lane, const Operand& operand, Fault fault) {
  std::string what = words(*plan_, operand, lane.rank);
  switch (fault) {
    case Fault::none: break;
    case Fault::undecided: return fail(lane, "uses " + what + ", which is not published (yet)");
    case Fault::absent:
      return fail(lane, "uses " + what + ", a buffer that this rank does not have in " + name(plan_->collective));
    case Fault::overflow: return fail(lane, "goes beyond the end of a slot of " + what);
    case Fault::read_only: return fail(lane, "writes " + what + ", the caller's input");
    case Fault::no_block: return fail(lane, "names no block of " + what + ", or one where there are none");
  }
  return fail(lane, what);
}

bool Verification::fail(const LaneState& lane, const Order::Conflict& conflict, bool writes) {
  const char* kind = !writes          ? "read before the write"
                     : conflict.write ? "two writes in no order"
                                      : "overwrite before the last read";
  return fail(lane, std::string(kind) + ": " + layout_->describe(conflict.cell) + " is " +
                        (conflict.write ? "written" : "read") + " by " + where(conflict.epoch) +
                        ", and no flag orders the two");
}

// ---- observer -------------------------------------------------------------------------------------------------

inline bool Verification::clocked(const LaneState& lane) {
  if (!ordering_) return true;
  if (lane.time > Order::most_steps)
    return fail(lane, "the run is too long to verify; use a smaller count or larger chunks");
  order_.step(lane.id, lane.time);
  return true;
}

bool Verification::publish(const LaneState& lane, const Step& step) {
  if (!clocked(lane)) return false;
  const View& view = plan_->views[step.view];
  if (view.buffer == Buffer::none) return true;
  if (!layout_->has(view.buffer, lane.rank))
    return fail(lane, std::string("publishes a buffer that this rank does not have in ") + name(plan_->collective));
  size_t i = size_t(lane.rank) * plan_->views.size() + step.view;
  if (decisions_[i] != Decision::undecided) return fail(lane, "publishes the view a second time");
  decisions_[i] = planned_[i];
  if (ordering_) published_[i] = order_.now();
  return true;
}

inline bool Verification::owns(const LaneState& lane, const Step& step, bool& runs) {
  if (!clocked(lane)) return false;
  Decision decision = Decision::staged;
  if (plan_->views[step.view].buffer != Buffer::none) {
    size_t i = size_t(lane.rank) * plan_->views.size() + step.view;
    decision = decisions_[i];
    if (decision == Decision::undecided || (ordering_ && !order_.before(published_[i], lane.id)))
      return fail(lane, "depends on a view of its own that is not published (yet)");
  }
  runs = step.when == (decision == Decision::staged ? When::staged : When::direct);
  return true;
}

// The accesses to a rank's buffers form chains of ordered accesses. By Dilworth's theorem, at most `throttle` accesses
// are concurrent in every interleaving if `throttle` chains suffice.
bool Verification::open_access(const LaneState& lane, int owner) {
  std::vector<Epoch>& chains = open_[size_t(owner)];
  for (Epoch& last : chains)
    if (order_.before(last, lane.id)) {
      last = order_.now();
      return true;
    }
  chains.push_back(order_.now());
  if (chains.size() <= plan_->throttle) return true;
  std::string others;
  for (size_t i = 0; i + 1 < chains.size(); ++i) others += (i == 0 ? "" : "; ") + where(chains[i]);
  return fail(lane, "is one access too many to the buffers of rank " + std::to_string(owner) + ": the plan claims " +
                        std::to_string(plan_->throttle) + " at once, and these may be open: " + others);
}

bool Verification::may_use(const LaneState& lane, const Operand& operand) {
  const View& view = plan_->views[operand.view];
  if (view.buffer == Buffer::none) return true;
  if (plan_->throttle != 0 && operand.rank != lane.rank &&
      decisions_[size_t(operand.rank) * plan_->views.size() + operand.view] == Decision::direct &&
      !open_access(lane, operand.rank))
    return false;
  if (operand.rank == lane.rank) {
    Epoch published = published_[size_t(operand.rank) * plan_->views.size() + operand.view];
    if (published != 0 && order_.before(published, lane.id)) return true;
    return fail(lane, operand, Fault::undecided);
  }
  size_t flags = size_t(plan_->ranks) * plan_->flags, flag = size_t(operand.rank) * plan_->flags + view.flag;
  if (learned_[lane.id * flags + flag] != 0) return true;
  // Another lane of this rank may have waited for the flag before this step.
  for (uint32_t other = machine_->first_lane(lane.rank);
       other < machine_->first_lane(lane.rank) + machine_->lanes_of(lane.rank); ++other) {
    uint32_t time = learned_[other * flags + flag];
    if (time != 0 && order_.before(other << 20 | time, lane.id)) return true;
  }
  return fail(lane, "uses " + words(*plan_, operand, lane.rank) + " without having waited for flag " +
                        std::to_string(view.flag) + " of rank " + std::to_string(operand.rank) +
                        ", which announces it");
}

inline bool Verification::defined(const LaneState& lane, size_t cell, size_t cells) {
  for (size_t c = cell; c < cell + cells; ++c)
    if (memory_[c].expression == 0)
      return fail(lane, "read before the write: " + layout_->describe(c) + " is undefined");
  return true;
}

inline bool Verification::store(const LaneState& lane, size_t cell, const Value* values, size_t cells) {
  if (ordering_)
    if (auto conflict = order_.write(lane.id, uint32_t(cell), cells); conflict.epoch != 0)
      return fail(lane, conflict, true);
  std::memmove(&memory_[cell], values, cells * sizeof(Value));
  return true;
}

bool Verification::transfer(const LaneState& lane, const Step& step, const Extent& extent) {
  if (!clocked(lane)) return false;
  const Operand* operands = plan_->program(lane.rank).operands.data() + step.operand;
  if (step.blocks == 1) return transfer(lane, step, operands, extent);
  Operand both[] = {operands[0], operands[1]};
  for (int i = 0; i < step.blocks; ++i, ++both[0].block, ++both[1].block)
    if (!transfer(lane, step, both, extent)) return false;
  return true;
}

bool Verification::transfer(const LaneState& lane, const Step& step, const Operand* operands, const Extent& extent) {
  const Operand* sources = operands + step.destinations;
  size_t length = extent.length;

  Resolved to[2];
  for (size_t d = 0; d < step.destinations; ++d) {
    if (ordering_ && operands[d].space == Space::view && !may_use(lane, operands[d])) return false;
    to[d] = layout_->find<true>(operands[d], lane.rank, extent, lane.index, decisions_);
  }
  const Value* result = nullptr;
  size_t partials = 0;
  for (size_t s = 0; s < step.sources; ++s) {
    if (ordering_ && sources[s].space == Space::view && !may_use(lane, sources[s])) return false;
    Resolved from = layout_->find<false>(sources[s], lane.rank, extent, lane.index, decisions_);
    if (from.fault != Fault::none) return fail(lane, sources[s], from.fault);
    if (step.kind == Kind::copy) {
      // Data that is already in its place (in place, or the root's own buffer) is not copied.
      for (size_t d = 0; d < step.destinations; ++d)
        if (to[d].fault == Fault::read_only &&
            layout_->find<false>(operands[d], lane.rank, extent, lane.index, decisions_).cell == from.cell)
          to[d] = from;
      if (to[0].fault == Fault::none && to[0].cell == from.cell &&
          (step.destinations == 1 || (to[1].fault == Fault::none && to[1].cell == from.cell)))
        return true;
    }
    if (!defined(lane, from.cell, length)) return false;
    if (ordering_)
      if (auto conflict = order_.read(lane.id, uint32_t(from.cell), length); conflict.epoch != 0)
        return fail(lane, conflict, false);
    result = &memory_[from.cell];
    if (step.sources == 1) break;
    // The balanced fold: partial results of equally many sources are combined, as in a binary counter. At the end the
    // remaining ones, or all of a fold from the right, are combined from the right.
    if (partials == partials_.size()) partials_.emplace_back(layout_->count());
    std::copy_n(result, length, partials_[partials++].begin());
    for (size_t joined = s + 1; partials > 1 && ((joined % 2 == 0 && !step.from_right) || s + 1 == step.sources);
         joined /= 2, --partials)
      if (!combine(lane, partials_[partials - 2].data(), partials_[partials - 1].data(), length)) return false;
    result = partials_[0].data();
  }
  for (size_t d = 0; d < step.destinations; ++d) {
    if (to[d].fault != Fault::none) return fail(lane, operands[d], to[d].fault);
    if (result == &memory_[to[d].cell]) continue;
    if (!store(lane, to[d].cell, result, length)) return false;
  }
  return true;
}

bool Verification::combine(const LaneState& lane, Value* a, const Value* b, size_t length) {
  Value last_a, last_b;  // neighbouring elements usually hold the same expression
  Expression last = 0;
  for (size_t i = 0; i < length; ++i) {
    if (a[i].element != b[i].element)
      return fail(lane,
                  "combines element " + std::to_string(a[i].element) + " with element " + std::to_string(b[i].element));
    if (a[i].expression != last_a.expression || b[i].expression != last_b.expression) {
      last_a = a[i];
      last_b = b[i];
      last = expressions_->combine(last_a.expression, last_b.expression);
    }
    a[i].expression = last;
  }
  return true;
}

inline bool Verification::post(const LaneState& lane, const Step& step, uint32_t flag, int64_t value) {
  if (!clocked(lane)) return false;
  if (value < 1 || value < machine_->flag(flag))
    return fail(lane, "posts " + std::to_string(value) + " on a flag that is at " +
                          std::to_string(machine_->flag(flag)) + ": values begin at 1 and never decrease");
  if (value > last_value_)
    return fail(lane,
                "posts " + std::to_string(value) + ", more than the plan's last value " + std::to_string(last_value_));
  if (!ordering_) return true;
  for (uint16_t view : announced_by_[step.flag]) {
    size_t i = size_t(lane.rank) * plan_->views.size() + view;
    if (publishes_[i] && (published_[i] == 0 || !order_.before(published_[i], lane.id)))
      return fail(lane, "announces view " + std::to_string(view) + " before publishing it");
  }
  if (!order_.post(lane.id, flag, value))
    return fail(lane, "another lane posts the same flag, and nothing orders the two");
  return true;
}

inline bool Verification::met(const LaneState& lane, const Step&, uint32_t flag, int64_t value) {
  if (!clocked(lane) || !ordering_) return ordering_ == false;
  order_.wait(lane.id, flag, value);
  uint32_t& learned = learned_[size_t(lane.id) * size_t(plan_->ranks) * plan_->flags + flag];
  if (learned == 0) learned = lane.time;
  return true;
}

// Defined in this file so that the compiler can inline the observer's functions, which every step calls.
bool Verification::watch(const Schedule& schedule) { return Scheduler(schedule, *machine_).run(*this); }

}  // namespace coll::plan
