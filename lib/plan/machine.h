// SPDX-License-Identifier: BSD-3-Clause
// The core that verifier, counters, drawings and simulator share: it interprets the programs of all ranks, one step of
// one lane at a time, in any order that the caller chooses. It executes control flow and flags; an Observer executes
// what a step does to memory:
//
//   bool publish(const LaneState&, const Step&);
//   bool transfer(const LaneState&, const Step&, const Extent&);                copy and reduce, never empty
//   bool post(const LaneState&, const Step&, uint32_t flag, int64_t value);     before the flag changes
//   bool met(const LaneState&, const Step&, uint32_t flag, int64_t value);      a wait that is over; value > 0
//   bool owns(const LaneState&, const Step&, bool& runs);                       whether a conditional step runs
//
// Each function returns false to stop the machine. Flags are numbered rank * plan.flags + flag.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/geometry.h"
#include "plan/layout.h"
#include "plan/plan.h"

namespace coll::plan {

struct LaneState {
  const Step* steps = nullptr;
  uint32_t size = 0;
  uint32_t id = 0;  // index among the lanes of all ranks
  uint16_t rank = 0;
  uint16_t lane = 0;   // index among the lanes of the rank
  uint32_t at = 0;     // index of the next step
  uint32_t index = 0;  // the iteration of the loop, from 0
  uint32_t time = 0;   // steps taken, including the present one while an observer is called
  uint32_t next = 0;   // the next lane in the list of those waiting for the same flag, + 1
  int64_t need = 0;    // the value that the lane waits for
  const Step& step() const { return steps[at]; }
  bool ended() const { return at == size; }
};

enum class Stop : uint8_t { ran, blocked, ended, failed };

class Machine {
 public:
  explicit Machine(const Layout& layout);

  const Layout& layout() const { return *layout_; }
  const Plan& plan() const { return layout_->plan(); }
  std::vector<LaneState>& lanes() { return lanes_; }
  const std::vector<LaneState>& lanes() const { return lanes_; }
  uint32_t first_lane(int rank) const { return first_lane_[size_t(rank)]; }
  uint32_t lanes_of(int rank) const { return first_lane_[size_t(rank) + 1] - first_lane_[size_t(rank)]; }
  int64_t flag(uint32_t flag) const { return flags_[flag]; }
  // Lanes that a post has set free since the caller last cleared this.
  std::vector<uint32_t>& woken() { return woken_; }

  void reset();
  uint64_t steps() const;

  int64_t value(const LaneState& lane, const Step& step) const {
    int64_t value = step.value;
    if (step.add == Add::index) value += lane.index;
    if (step.add == Add::trips) value += int64_t(layout_->geometry(step.range).trips);
    return value;
  }

  // Takes the next step of a lane, or notes the value that it waits for and returns Stop::blocked.
  template <class Observer>
  Stop run_step(LaneState& lane, Observer& observer);

  // Returns the lane as it took its step at `time`, with the iteration. Control flow does not depend on data, so the
  // machine repeats it.
  LaneState retrace(uint32_t lane, uint32_t time) const;

 private:
  void advance(LaneState& lane) const {
    const Step& step = lane.step();
    if (step.kind == Kind::loop && layout_->geometry(step.range).trips == 0) {
      lane.at = uint32_t(step.value);
    } else if (step.kind != Kind::end) {
      ++lane.at;
    } else if (++lane.index < layout_->geometry(step.range).trips) {
      lane.at = uint32_t(step.value);
    } else {
      lane.index = 0;
      ++lane.at;
    }
  }
  void wake(uint32_t flag);

  const Layout* layout_;
  std::vector<LaneState> lanes_;
  std::vector<uint32_t> first_lane_;
  std::vector<int64_t> flags_;
  std::vector<uint32_t> waiting_;  // by flag: the first lane that waits for it, + 1
  std::vector<uint32_t> woken_;
};

template <class Observer>
[[gnu::always_inline]] inline Stop Machine::run_step(LaneState& lane, Observer& observer) {
  if (lane.ended()) return Stop::ended;
  const Step& step = lane.step();
  ++lane.time;
  bool runs = true;
  if (step.when != When::always && !observer.owns(lane, step, runs)) return Stop::failed;
  if (step.within) runs = runs && lane.index < layout_->geometry(step.range).trips;
  if (runs) {
    switch (step.kind) {
      case Kind::publish:
        if (!observer.publish(lane, step)) return Stop::failed;
        break;
      case Kind::copy:
      case Kind::reduce: {
        Extent extent = layout_->geometry(step.range).at(lane.index);
        if (extent.length != 0 && !observer.transfer(lane, step, extent)) return Stop::failed;
        break;
      }
      case Kind::post: {
        uint32_t flag = uint32_t(lane.rank) * plan().flags + step.flag;
        int64_t value = this->value(lane, step);
        if (value == 0 && step.add == Add::trips) break;  // all pieces of the range are empty
        if (!observer.post(lane, step, flag, value)) return Stop::failed;
        flags_[flag] = value;
        if (waiting_[flag] != 0) wake(flag);
        break;
      }
      case Kind::wait: {
        int64_t value = this->value(lane, step);
        if (value <= 0) break;
        uint32_t flag = uint32_t(step.rank) * plan().flags + step.flag;
        if (flags_[flag] < value) {
          --lane.time;
          lane.need = value;
          lane.next = waiting_[flag];
          waiting_[flag] = lane.id + 1;
          return Stop::blocked;
        }
        if (!observer.met(lane, step, flag, value)) return Stop::failed;
        break;
      }
      case Kind::loop:
      case Kind::end: break;
    }
  }
  advance(lane);
  return lane.ended() ? Stop::ended : Stop::ran;
}

}  // namespace coll::plan
