// SPDX-License-Identifier: BSD-3-Clause
#include "exec/bound.h"

#include <algorithm>
#include <string>

#include "mem/shared_stores.h"

namespace coll::exec {

using plan::Add;
using plan::Kind;

std::string fits(const plan::Plan& plan, const Channel& channel, size_t element_bytes) {
  if (plan.flags > max_flags)
    return "it needs " + std::to_string(plan.flags) + " flags, but there are only " + std::to_string(max_flags);
  if (plan.views.size() > size_t(max_views)) return "it needs " + std::to_string(plan.views.size()) + " views";
  if (plan.staging_bytes > channel.room())
    return "it needs " + std::to_string(plan.staging_bytes) + " bytes of staging, but there are only " +
           std::to_string(channel.room()) + "; choose a smaller chunk or depth";
  // With many ranks, slots for many blocks are short.
  for (const plan::View& view : plan.views)
    if (view.slot_bytes < element_bytes)
      return "an element of " + std::to_string(element_bytes) + " bytes does not fit its slots of " +
             std::to_string(view.slot_bytes);
  return "";
}

transport::Demands demands(const plan::Plan& plan) {
  // Flags order accesses to the same bytes (plan.h, invariant 3) and are in the channel's shared memory: nothing that
  // the mechanism reaches has to be atomic.
  return {.reads = plan.direction != plan::Direction::write,
          .writes = plan.direction != plan::Direction::read,
          .atomic_bytes = 0};
}

Bound::Bound(const plan::Plan& plan, Channel& channel, const BindOptions& options)
    : plan_(&plan),
      element_bytes_(options.element_bytes),
      block_bytes_(options.shape.count * options.element_bytes),
      access_mode_(options.access_mode),
      stream_(options.stream),
      last_value_(plan::last_value(plan, options.shape, options.element_bytes)) {
  channel.make_room(plan.views.size());
  for (plan::Buffer buffer : {plan::Buffer::send, plan::Buffer::recv})
    measure(buffer, options.shape, size_t(channel.team->rank));
  geometry_.reserve(plan.ranges.size());
  for (const plan::Range& range : plan.ranges)
    geometry_.push_back(plan::Geometry::bind(range, options.shape, options.element_bytes));
  const plan::Program& program = plan.program(channel.team->rank);
  locations_.reserve(program.operands.size());
  bool stages_here = false;  // this rank or a peer stores to this rank's staging, unless all its views are direct
  for (const plan::Operand& operand : program.operands) {
    locations_.push_back(locate(operand, channel));
    const Location& at = locations_.back();
    stages_here |= at.where == Location::Where::view && at.rank == channel.team->rank;
  }
  lanes_.resize(program.lanes.size());
  for (size_t l = 0; l < lanes_.size(); l++)
    for (const plan::Step& step : program.lanes[l].steps) {
      lanes_[l].code.push_back(translate(step, channel));
      stores_shared_ |= lanes_[l].code.back().shared != 0;
    }
  compile_loops();
  if (stages_here) find_stored_first(channel.team->rank);
  fills_staging_ =
      stages_here && (!plan.irregular || std::max(sizes_[0].bytes(), sizes_[1].bytes()) >= plan.staging_bytes);
}

void Bound::compile_loops() {
  for (BoundLane& lane : lanes_)
    for (uint32_t end = 0; end < lane.code.size(); end++)
      if (Instruction& in = lane.code[end]; in.kind == Kind::end)
        if (auto loop = compiled_loop(lane, uint32_t(in.value), end); loop != nullptr) {
          in.compiled = loop.get();
          lane.loops.push_back(std::move(loop));
        }
}

void Bound::find_stored_first(int rank) {
  size_t left = prefetched_bytes(plan_->synchronizing);
  bool more = true;
  for (uint64_t iteration = 0; more && left > 0; iteration++) {
    more = false;
    for (const BoundLane& lane : lanes_)
      for (const Instruction& in : lane.code) {
        const bool stores = in.kind == Kind::copy || in.kind == Kind::reduce;
        if (!stores || in.when == plan::When::direct) continue;
        const plan::Extent extent = in.geometry->at(iteration);
        if (in.kind == Kind::copy && in.destinations == 1 &&
            mem::writes_without_prefetch(extent.length * element_bytes_))
          continue;
        for (int d = 0; d < in.destinations; d++) {
          const Location& to = in.locations[d];
          if (to.where != Location::Where::view || to.rank != rank || iteration > to.slot_mask) continue;
          for (size_t block = 0; block < in.blocks; block++) {
            const size_t bytes = std::min(left, extent.length * element_bytes_);
            if (bytes == 0) break;
            stored_first_.push_back({slot(to, extent, iteration, element_bytes_) + block * to.block_stride, bytes});
            left -= bytes;
            more = true;
          }
        }
      }
  }
}

void Bound::measure(plan::Buffer buffer, const plan::Shape& shape, size_t rank) {
  BufferSize& size = sizes_[buffer == plan::Buffer::recv];
  const bool blocks = plan::has_blocks(plan_->collective, buffer);
  if (!plan_->irregular) {
    size.piece_bytes = block_bytes_;
    size.span_bytes = block_bytes_ * (blocks ? size_t(plan_->ranks) : 1);
    return;
  }
  if (!blocks) {
    // A sender has one piece, the same for all receivers; a receiver's piece comes from the root.
    size_t other = size_t(plan_->root);
    size_t count = buffer == plan::Buffer::send ? shape.piece(rank, other) : shape.piece(other, rank);
    size.piece_bytes = size.span_bytes = count * element_bytes_;
    return;
  }
  for (size_t other = 0; other < size_t(plan_->ranks); other++) {
    size_t count = buffer == plan::Buffer::send ? shape.piece(rank, other) : shape.piece(other, rank);
    size.blocks.push_back(count * element_bytes_);
    size.piece_bytes = std::max(size.piece_bytes, size.blocks.back());
  }
}

Location Bound::locate(const plan::Operand& operand, Channel& channel) const {
  Location at;
  const plan::View* seen = operand.space == plan::Space::view ? &plan_->views[operand.view] : nullptr;
  plan::Buffer buffer = seen != nullptr                      ? seen->buffer
                        : operand.space == plan::Space::send ? plan::Buffer::send
                                                             : plan::Buffer::recv;
  if (plan::has_blocks(plan_->collective, buffer)) {
    if (plan_->irregular) at.block = operand.block;
    else at.offset = operand.block * block_bytes_;
  }
  at.block_stride = block_bytes_;
  if (operand.space == plan::Space::send) return at.where = Location::Where::send, at;
  if (operand.space == plan::Space::recv) return at.where = Location::Where::recv, at;
  const plan::View& view = *seen;
  at.where = Location::Where::view;
  if (view.buffer == plan::Buffer::none) at.block_stride = view.slot_bytes;
  at.view = uint8_t(operand.view);
  at.rank = operand.rank;
  at.slot_mask = view.depth - 1u;
  at.slot_stride = view.slot_bytes * view.blocks;
  at.slot_offset = uint32_t(view.slot_offset + plan::slot_block(view, operand) * view.slot_bytes);
  at.seen = channel.place_of(operand.rank, operand.view);
  at.staging = channel.ring_of(plan_->staging_bytes).parts.of(operand.rank);
  return at;
}

namespace {

// Slots of a reduction among oversubscribed ranks: the next reader is about as likely as not on the same core, and
// usually stores its result there.
bool is_forwarded(const plan::Plan& plan, const Location& slot, const Team& team) {
  return team.oversubscribed && plan::is_reduction(plan.collective) &&
         plan.views[slot.view].buffer == plan::Buffer::none;
}

}  // namespace

Instruction Bound::translate(const plan::Step& step, Channel& channel) const {
  Instruction in{};
  in.kind = step.kind;
  in.when = step.when;
  in.add = step.add;
  in.destinations = step.destinations;
  in.sources = step.sources;
  in.rank = step.rank;
  in.blocks = step.blocks;
  in.within = step.within;
  in.conditional = step.within || step.when != plan::When::always;
  in.stream = stream_ && !step.reused;
  in.from_right = step.from_right;
  in.view = step.view == plan::no_view ? no_bound_view : uint8_t(step.view);
  in.announces = no_bound_view;
  in.shared = 0;
  // Peers read the result in place.
  const bool recv_is_shared = step.when == plan::When::direct && step.view != plan::no_view &&
                              plan_->views[step.view].buffer == plan::Buffer::recv;
  in.value = step.value;
  switch (step.kind) {
    case Kind::post: in.flag = &channel.flag(channel.team->rank, step.flag).sequence; break;
    case Kind::wait:
      in.flag = &channel.flag(step.rank, step.flag).sequence;
      for (size_t v = 0; v < plan_->views.size(); v++)
        if (plan_->views[v].buffer != plan::Buffer::none && plan_->views[v].flag == step.flag)
          in.announces = uint8_t(v);
      break;
    case Kind::copy:
    case Kind::reduce:
    case Kind::loop:
    case Kind::end:
      in.geometry = &geometry_[step.range];
      if (step.kind == Kind::loop || step.kind == Kind::end) break;
      in.locations = locations_.data() + step.operand;
      if (step.kind == Kind::reduce || (step.kind == Kind::copy && !in.stream))
        for (int d = 0; d < step.destinations && in.shared == 0; d++)
          if ((in.locations[d].where == Location::Where::view &&
               !is_forwarded(*plan_, in.locations[d], *channel.team)) ||
              (recv_is_shared && in.locations[d].where == Location::Where::recv))
            in.shared = uint8_t(d + 1);
      break;
    case Kind::publish: break;
  }
  if (step.add == Add::trips || step.within) in.trips = geometry_[step.range].trips;
  // If all pieces are empty, no iteration posts anything.
  if (step.kind == Kind::post && step.add == Add::trips && in.trips == 0 && step.value == 0)
    in.conditional = in.within = true;
  return in;
}

}  // namespace coll::exec
