// SPDX-License-Identifier: BSD-3-Clause
#include "plan/machine.h"

#include <algorithm>

namespace coll::plan {

Machine::Machine(const Layout& layout) : layout_(&layout) {
  const Plan& plan = layout.plan();
  for (int rank = 0; rank < plan.ranks; ++rank) {
    first_lane_.push_back(uint32_t(lanes_.size()));
    const Program& program = plan.program(rank);
    for (size_t l = 0; l < program.lanes.size(); ++l) {
      LaneState lane;
      lane.steps = program.lanes[l].steps.data();
      lane.size = uint32_t(program.lanes[l].steps.size());
      lane.id = uint32_t(lanes_.size());
      lane.rank = uint16_t(rank);
      lane.lane = uint16_t(l);
      lanes_.push_back(lane);
    }
  }
  first_lane_.push_back(uint32_t(lanes_.size()));
  flags_.resize(size_t(plan.ranks) * plan.flags);
  waiting_.resize(flags_.size());
}

void Machine::reset() {
  for (LaneState& lane : lanes_) lane.at = lane.index = lane.time = lane.next = 0;
  std::fill(flags_.begin(), flags_.end(), 0);
  std::fill(waiting_.begin(), waiting_.end(), 0);
  woken_.clear();
}

uint64_t Machine::steps() const {
  uint64_t steps = 0;
  for (const LaneState& lane : lanes_) steps += lane.time;
  return steps;
}

void Machine::wake(uint32_t flag) {
  uint32_t* link = &waiting_[flag];
  while (*link != 0) {
    LaneState& lane = lanes_[*link - 1];
    if (lane.need <= flags_[flag]) {
      woken_.push_back(lane.id);
      *link = lane.next;
    } else {
      link = &lane.next;
    }
  }
}

LaneState Machine::retrace(uint32_t lane, uint32_t time) const {
  LaneState state = lanes_[lane];
  state.at = state.index = 0;
  for (state.time = 1; state.time < time; ++state.time) advance(state);
  return state;
}

}  // namespace coll::plan
