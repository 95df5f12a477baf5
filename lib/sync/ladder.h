// SPDX-License-Identifier: BSD-3-Clause
// How a rank waits: it climbs from spinning over yielding to sleeping the longer nothing happens.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

#include "sync/doorbell.h"
#include "sync/flag.h"

namespace coll::sync {

// How long each rung lasts, in rounds of looking at what is waited for.
struct Patience {
  uint32_t spins = 20000;  // with a pause each
  uint32_t yields = 2000;  // with sched_yield() each; then sleep
  // A yield that comes back sooner than this let nobody run: either nobody wants the core, or those who want it are of
  // another scheduling group. After `vain_yields` of them in a row it is time to sleep. 0: do not look at the clock.
  uint32_t vain_yields = 0;
  static Patience alone() { return {}; }
  // More ranks than cores: whoever is waited for may need this very core. A yield lets it run if it is of the same
  // scheduling group, and then costs less than a sleep, above all on a core that would fall idle.
  static Patience crowded(bool one_group) { return {.spins = 1, .yields = 4000, .vain_yields = one_group ? 0u : 24u}; }
};
inline constexpr int64_t vain_yield_ns = 700;

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
      if (patience_.vain_yields == 0) sched_yield();
      else if (yield_in_vain() && ++vain_ >= patience_.vain_yields) rounds_ = patience_.spins + patience_.yields;
      return Rung::yield;
    }
    rounds_ = round;  // stay on the top rung
    return Rung::sleep;
  }
  uint32_t rounds() const { return rounds_; }

 private:
  bool yield_in_vain() {
    timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &after);
    bool vain = (after.tv_sec - before.tv_sec) * 1'000'000'000 + (after.tv_nsec - before.tv_nsec) < vain_yield_ns;
    if (!vain) vain_ = 0;
    return vain;
  }

  Patience patience_;
  uint32_t rounds_ = 0;
  uint32_t vain_ = 0;  // yields in a row that let nobody run
};

}  // namespace coll::sync
