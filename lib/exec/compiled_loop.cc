// SPDX-License-Identifier: BSD-3-Clause
#include "exec/compiled_loop.h"

#include <algorithm>

#include "exec/run.h"

namespace coll::exec {

using plan::Add;
using plan::Geometry;
using plan::Kind;

namespace {

constexpr uint64_t never = UINT64_MAX;

// The first iteration from which on each iteration that has a chunk of the range has a full one, except that the chunk
// of iteration 0 may lack its end. `never` if there is none.
uint64_t first_even(const Geometry& range) {
  if (range.trips <= 1) return 0;
  const uint64_t first = range.trips - range.part_length / range.chunk;
  if (first >= range.trips) return never;
  return first == 1 && range.subs == 1 ? 0 : first;
}

}  // namespace

// Compiles a loop; returns null if it has steps that a run must look up in every iteration.
std::unique_ptr<CompiledLoop> Bound::compiled_loop(const BoundLane& lane, uint32_t begin, uint32_t end) const {
  auto loop = std::make_unique<CompiledLoop>();
  loop->first = 0;
  const uint64_t trips = lane.code[end].geometry->trips;
  if (trips < 2) return nullptr;
  for (uint32_t place = begin; place < end; place++) {
    const Instruction& in = lane.code[place];
    CompiledStep step{};
    step.kind = in.kind;
    step.place = place;
    step.conditional = in.when != plan::When::always;
    step.until = in.within ? in.trips : trips;
    switch (in.kind) {
      case Kind::wait:
      case Kind::post:
        step.flag = in.flag;
        step.by_index = in.add == Add::index;
        step.announces = in.kind == Kind::wait && in.announces != no_bound_view;
        step.value = int64_t(in.value) + (in.add == Add::trips ? int64_t(in.trips) : 0);
        break;
      case Kind::copy:
      case Kind::reduce: {
        const Geometry& range = *in.geometry;
        if (range.part_length == 0) continue;
        if (in.blocks != 1) return nullptr;
        const uint64_t first = first_even(range);
        if (first == never || in.sources > RunningLoop::most_sources) return nullptr;
        loop->first = std::max(loop->first, first);
        const plan::Extent full = range.at(range.trips - 1);
        step.elements = full.length;
        step.value = int64_t(range.at(0).length);
        step.until = range.trips;
        step.stream = in.stream;
        step.shared = in.shared;
        step.from_right = in.from_right;
        step.destinations = in.destinations;
        step.sources = uint8_t(in.sources);
        step.operand = uint32_t(loop->operands.size());
        const size_t down = range.chunk * element_bytes_;
        for (int i = 0; i < in.destinations + in.sources; i++)
          loop->operands.push_back({.location = &in.locations[i],
                                    .in_buffer = full.low * element_bytes_ + (range.trips - 1) * down,
                                    .in_slot = uint32_t((full.low - full.chunk_low) * element_bytes_),
                                    .down = -int32_t(down)});
        break;
      }
      case Kind::loop:
      case Kind::end:
      case Kind::publish: return nullptr;
    }
    loop->steps.push_back(step);
  }
  return loop;
}

bool Run::enter_compiled(LaneState& lane, const Instruction& end, uint64_t index) {
  const CompiledLoop* loop = end.compiled;
  if (loop == nullptr || index < loop->first) return false;
  const auto number = size_t(&lane - lanes_.data());
  if (number >= running_loops_.size()) running_loops_.resize(number + 1);
  RunningLoop& loop_state = running_loops_[number];
  loop_state.steps.clear();
  loop_state.steps.reserve(loop->steps.size());
  loop_state.operands.resize(loop->operands.size());
  for (const CompiledStep& step : loop->steps) {
    if (step.conditional && skipped_by_view(lane.code[step.place])) continue;
    for (uint32_t i = step.operand; i < step.operand + step.destinations + step.sources; i++) {
      const UnboundOperand& place = loop->operands[i];
      const Location& at = *place.location;
      if (is_remote(at)) return false;
      if (is_staged(at)) loop_state.operands[i] = {staged(at) + place.in_slot, at.slot_mask, int32_t(at.slot_stride)};
      else loop_state.operands[i] = {buffer(at) + place.in_buffer, ~uint32_t(0), place.down};
    }
    loop_state.steps.push_back(step);
  }
  loop_state.trips = end.geometry->trips;
  loop_state.behind = uint32_t(&end - lane.code) + 1;
  loop_state.next = 0;
  loop_state.known = known_;
  return lane.in_compiled_loop = true;
}

Run::Outcome Run::run_compiled(LaneState& lane) {
  RunningLoop& loop_state = running_loops_[size_t(&lane - lanes_.data())];
  mem::SharedStores& stores = channel_->team->stores;
  sync::Doorbell& bell = channel_->team->bell();
  CompiledStep* const steps = loop_state.steps.data();
  const size_t count = loop_state.steps.size();
  const bool stores_shared = stores_shared_;
  const uint64_t base = channel_->base, trips = loop_state.trips;
  uint64_t index = lane.index;
  for (size_t next = loop_state.next; index < trips; index++, next = 0)
    for (; next < count; next++) {
      CompiledStep& step = steps[next];
      if (index >= step.until) continue;
      const CompiledOperand* const operand = loop_state.operands.data() + step.operand;
      switch (step.kind) {
        case Kind::wait:
          if (const int64_t value = step.value + (step.by_index ? int64_t(index) : 0); value > 0) {
            if (!sync::is_posted(*step.flag, base + uint64_t(value))) {
              loop_state.next = next;
              lane.next = lane.code + step.place;
              lane.index = index;
              return Outcome::blocked;
            }
            if (step.announces) {
              step.announces = false;
              const Instruction& in = lane.code[step.place];
              learn(in.rank, in.announces);
              if (known_ != loop_state.known) {
                lane.next = &in + 1;
                lane.index = index;
                lane.in_compiled_loop = false;
                return Outcome::left;
              }
            }
          }
          break;
        case Kind::post:
          if (stores_shared && stores.is_due()) [[unlikely]]
            stores.measure(*step.flag);
          sync::post(*step.flag, base + uint64_t(step.value + (step.by_index ? int64_t(index) : 0)));
          sync::doorbell_after_post(bell);
          break;
        case Kind::copy:
          copy_here(step.shared, step.stream, operand[0].at(index),
                    step.destinations == 2 ? operand[1].at(index) : nullptr, operand[step.destinations].at(index),
                    (index == 0 ? size_t(step.value) : step.elements) * element_bytes_);
          break;
        case Kind::reduce: {
          const void* sources[RunningLoop::most_sources];
          for (int s = 0; s < step.sources; s++) sources[s] = operand[step.destinations + s].at(index);
          reduce_here(step.shared, step.from_right, operand[0].at(index),
                      step.destinations == 2 ? operand[1].at(index) : nullptr, sources, step.sources,
                      index == 0 ? size_t(step.value) : step.elements);
          break;
        }
        case Kind::loop:
        case Kind::end:
        case Kind::publish: break;
      }
    }
  lane.in_compiled_loop = false;
  lane.next = lane.code + loop_state.behind;
  lane.index = 0;
  return Outcome::ended;
}

}  // namespace coll::exec
