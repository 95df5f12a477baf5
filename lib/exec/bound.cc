// SPDX-License-Identifier: BSD-3-Clause
#include "exec/bound.h"

#include <string>

namespace coll::exec {

using plan::Add;
using plan::Kind;

std::string fits(const plan::Plan& plan, const Channel& channel) {
  if (plan.flags > max_flags)
    return "it needs " + std::to_string(plan.flags) + " flags, there are " + std::to_string(max_flags);
  if (plan.views.size() > size_t(max_views)) return "it needs " + std::to_string(plan.views.size()) + " views";
  if (plan.staging_bytes > channel.half_bytes)
    return "it needs " + std::to_string(plan.staging_bytes) + " bytes of staging, there are " +
           std::to_string(channel.half_bytes) + "; choose a smaller chunk";
  return "";
}

Bound::Bound(const plan::Plan& plan, Channel& channel, const BindOptions& options)
    : plan_(&plan), options_(options), last_value_(plan::last_value(plan, options.count, options.element_bytes)) {
  geometry_.reserve(plan.ranges.size());
  for (const plan::Range& range : plan.ranges)
    geometry_.push_back(plan::Geometry::bind(range, options.count, options.element_bytes));
  const plan::Program& program = plan.program(channel.team->rank);
  locations_.reserve(program.operands.size());
  for (const plan::Operand& operand : program.operands) locations_.push_back(locate(operand, channel));
  lanes_.resize(program.lanes.size());
  for (size_t l = 0; l < lanes_.size(); l++)
    for (const plan::Step& step : program.lanes[l].steps) lanes_[l].code.push_back(translate(step, channel));
}

Location Bound::locate(const plan::Operand& operand, Channel& channel) const {
  Location at;
  if (operand.space == plan::Space::send) return at.where = Location::Where::send, at;
  if (operand.space == plan::Space::recv) return at.where = Location::Where::recv, at;
  const plan::View& view = plan_->views[operand.view];
  at.where = Location::Where::view;
  at.view = uint8_t(operand.view);
  at.rank = operand.rank;
  at.slot_mask = view.depth - 1u;
  at.slot_bytes = view.slot_bytes;
  at.slot_offset = view.slot_offset;
  at.staging = channel.members[operand.rank].staging;
  return at;
}

Instruction Bound::translate(const plan::Step& step, Channel& channel) const {
  Instruction in{};
  in.kind = step.kind;
  in.when = step.when;
  in.add = step.add;
  in.destinations = step.destinations;
  in.sources = step.sources;
  in.rank = step.rank;
  in.stream = options_.stream && !step.reused;
  in.view = step.view == plan::no_view ? no_bound_view : uint8_t(step.view);
  in.announces = no_bound_view;
  in.value = step.value;
  switch (step.kind) {
    case Kind::post: in.flag = &channel.own().memory->flags[step.flag].sequence; break;
    case Kind::wait:
      in.flag = &channel.members[step.rank].memory->flags[step.flag].sequence;
      for (size_t v = 0; v < plan_->views.size(); v++)
        if (plan_->views[v].buffer != plan::Buffer::none && plan_->views[v].flag == step.flag)
          in.announces = uint8_t(v);
      break;
    case Kind::copy:
    case Kind::reduce:
    case Kind::loop:
    case Kind::end:
      in.geometry = &geometry_[step.range];
      in.locations = locations_.data() + step.operand;
      break;
    case Kind::publish: break;
  }
  if (step.add == Add::trips) in.trips = geometry_[step.range].trips;
  return in;
}

}  // namespace coll::exec
