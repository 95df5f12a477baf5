// SPDX-License-Identifier: BSD-3-Clause
// How a rank waits: it climbs from spinning over yielding to sleeping the longer nothing happens.
#pragma once

#include <sched.h>

#include <cstdint>

#include "sync/doorbell.h"
#include "sync/flag.h"

namespace coll::sync {

// How long each rung lasts, in rounds of looking at what is waited for.
struct Patience {
  uint32_t spins = 20000;   // with a pause each
  uint32_t yields = 2000;   // with sched_yield() each; then sleep
  static Patience alone() { return {}; }
  // More ranks than cores: whoever is waited for may need this very core.
  static Patience crowded() { return {.spins = 32, .yields = 4000}; }
};

enum class Rung : uint8_t { spin, yield, sleep };

// One climb. Reset it (make a new one) whenever something was achieved.
class Ladder {
 public:
  explicit Ladder(const Patience& patience) : patience_(patience) {}

  // Waits a little and says on which rung. On Rung::sleep nothing was done: the caller, who knows whom it waits for,
  // sleeps on a doorbell.
  Rung climb() {
    uint32_t round = rounds_++;
    if (round < patience_.spins) [[likely]] {
      pause();
      return Rung::spin;
    }
    if (round < patience_.spins + patience_.yields) {
      sched_yield();
      return Rung::yield;
    }
    rounds_ = round;  // stay on the top rung
    return Rung::sleep;
  }
  uint32_t rounds() const { return rounds_; }

 private:
  Patience patience_;
  uint32_t rounds_ = 0;
};

}  // namespace coll::sync
