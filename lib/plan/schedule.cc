// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule.h"

namespace coll::plan {

namespace {
constexpr uint32_t as_far_as_possible = 0xffffffffu;
}

const char* name(Policy policy) {
  switch (policy) {
    case Policy::run_ahead: return "run ahead";
    case Policy::round_robin: return "round robin";
    case Policy::last_in_first: return "last in, first out";
    case Policy::starve_rank: return "starve a rank";
    case Policy::starve_lane: return "starve a lane";
    case Policy::readers_last: return "readers last";
    case Policy::random: return "random";
  }
  return "?";
}

Scheduler::Scheduler(const Schedule& schedule, Machine& machine)
    : schedule_(schedule), machine_(&machine), random_(schedule.seed) {
  for (const LaneState& lane : machine.lanes())
    if (!lane.ended()) ready_.push_back(lane.id);
}

bool Scheduler::avoided(const LaneState& lane) const {
  switch (schedule_.policy) {
    case Policy::starve_rank: return lane.rank == schedule_.victim;
    case Policy::starve_lane: return lane.id == schedule_.victim;
    case Policy::readers_last: {
      const Step& step = lane.step();
      return step.kind == Kind::copy || step.kind == Kind::reduce;
    }
    default: return false;
  }
}

Scheduler::Turn Scheduler::pick() {
  switch (schedule_.policy) {
    case Policy::run_ahead: return {0, as_far_as_possible};
    case Policy::last_in_first: return {ready_.size() - 1, as_far_as_possible};
    case Policy::round_robin: return {cursor_ < ready_.size() ? cursor_ : 0, 1};
    case Policy::random: return {random_.below(uint32_t(ready_.size())), 1 + random_.below(8)};
    case Policy::starve_rank:
    case Policy::starve_lane:
      for (size_t i = 0; i < ready_.size(); ++i)
        if (!avoided(machine_->lanes()[ready_[i]])) return {i, as_far_as_possible};
      return {0, 1};
    case Policy::readers_last:
      for (size_t i = 0; i < ready_.size(); ++i) {
        // The lane advances one step at a time, up to its next transfer, which this policy delays.
        if (!avoided(machine_->lanes()[ready_[i]])) return {i, 1};
      }
      return {ready_.size() - 1, 1};
  }
  return {0, 1};
}

}  // namespace coll::plan
