// SPDX-License-Identifier: BSD-3-Clause
// The orders in which the lanes of all ranks take their steps: fair, adversarial and random ones.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/machine.h"

namespace coll::plan {

enum class Policy : uint8_t {
  run_ahead,      // one lane advances as far as it can, then the one that has been ready longest
  round_robin,    // one step each
  last_in_first,  // the lane that was woken last advances as far as it can
  starve_rank,    // one rank advances only if no other can
  starve_lane,    // one lane advances only if no other can
  readers_last,   // a lane takes a copy or reduction only if no lane can take another step
  random,
};
const char* name(Policy policy);

struct Schedule {
  Policy policy = Policy::run_ahead;
  uint32_t victim = 0;  // starve_rank: the rank; starve_lane: the lane
  uint64_t seed = 0;    // random: of the generator
};

// A small pseudo-random generator (splitmix64), which gives the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint32_t below(uint32_t n) { return uint32_t((next() >> 32) * n >> 32); }

 private:
  uint64_t state_;
};

// Chooses among the lanes that can advance. ready_ has them in the order in which they became ready.
class Scheduler {
 public:
  Scheduler(const Schedule& schedule, Machine& machine);
  // Runs until no lane can advance; returns false if the observer stopped the machine.
  template <class Observer>
  bool run(Observer& observer);

 private:
  struct Turn {
    size_t position;
    uint32_t steps;  // maximum
  };
  Turn pick();
  bool avoided(const LaneState& lane) const;

  Schedule schedule_;
  Machine* machine_;
  Random random_;
  std::vector<uint32_t> ready_;
  size_t cursor_ = 0;
};

template <class Observer>
bool Scheduler::run(Observer& observer) {
  auto& woken = machine_->woken();
  auto& lanes = machine_->lanes();
  while (!ready_.empty()) {
    Turn turn = pick();
    LaneState& lane = lanes[ready_[turn.position]];
    Stop stop = Stop::ran;
    for (uint32_t steps = 0; steps < turn.steps && stop == Stop::ran; ++steps) {
      stop = machine_->run_step(lane, observer);
      if (!woken.empty()) {
        ready_.insert(ready_.end(), woken.begin(), woken.end());
        woken.clear();
      }
    }
    if (stop == Stop::failed) return false;
    if (stop != Stop::ran) {
      ready_.erase(ready_.begin() + long(turn.position));
    } else {
      cursor_ = turn.position + 1;
    }
  }
  return true;
}

}  // namespace coll::plan
