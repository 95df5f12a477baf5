// SPDX-License-Identifier: BSD-3-Clause
// How a rank waits: it climbs from spinning over yielding to sleeping the longer nothing happens.
#pragma once

#include <cstdint>

#include "sync/clock.h"
#include "sync/doorbell.h"
#include "sync/flag.h"
#include "sync/system_wait.h"

namespace coll::sync {

inline constexpr int64_t vain_yield_ns = 700;
inline constexpr uint32_t yield_ns = 1400;  // that lets another run: about what it takes
inline constexpr uint32_t first_sleep_us = 500, longest_sleep_us = 20'000;

// How long each rung lasts, in rounds of looking at what is waited for.
struct Patience {
  uint32_t spins = 20000;  // with a pause each
  uint32_t yields = 2000;  // with yield() each; then sleep
  // A yield that comes back sooner than this let nobody run: either nobody wants the core, or those who want it are of
  // another scheduling group. After `vain_yields` of them in a row it is time to sleep. 0: do not look at the clock.
  uint32_t vain_yields = 0;
  uint32_t spin_ns = 0;  // the first rung lasts at least so long; 0: do not look at the clock
  static Patience alone() { return {}; }
  // More ranks than cores: whoever is waited for may need this very core. A yield lets it run if it is of the same
  // scheduling group, and then costs less than a sleep, above all on a core that would fall idle.
  static Patience crowded(bool one_group) { return {.spins = 1, .yields = 4000, .vain_yields = one_group ? 0u : 24u}; }
  // Whoever is waited for has another core: a short wait takes less than passing this one on and getting it back.
  Patience for_another_core() const {
    Patience longer = *this;
    longer.spin_ns = yield_ns;
    return longer;
  }
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
    if (round < patience_.spins || still_spins()) [[likely]] {
      pause();
      return Rung::spin;
    }
    if (round < patience_.spins + patience_.yields) {
      if (patience_.vain_yields == 0) yield();
      else if (yield_in_vain() && ++vain_ >= patience_.vain_yields) rounds_ = patience_.spins + patience_.yields;
      return Rung::yield;
    }
    rounds_ = round;  // stay on the top rung
    return Rung::sleep;
  }
  uint32_t rounds() const { return rounds_; }
  // The last rung was reached because no yield let another process run.
  bool in_vain() const { return patience_.vain_yields != 0 && vain_ >= patience_.vain_yields; }
  // For the next sleep. Each lasts twice as long as the one before: a wake-up that a doorbell loses then at most doubles
  // a wait, and long waits wake up seldom. The longest is one after which a death is still noticed in time.
  uint32_t sleep_us() {
    const uint32_t next = sleep_us_;
    sleep_us_ = next < longest_sleep_us / 2 ? 2 * next : longest_sleep_us;
    return next;
  }

 private:
  bool still_spins() {
    if (patience_.spin_ns == 0) return false;
    const int64_t now = now_ns();
    if (spins_until_ns_ == 0) spins_until_ns_ = now + patience_.spin_ns;
    if (now >= spins_until_ns_) patience_.spin_ns = 0;
    else rounds_ = patience_.spins;  // stay on the first rung
    return patience_.spin_ns != 0;
  }
  bool yield_in_vain() {
    const int64_t before = now_ns();
    yield();
    bool vain = now_ns() - before < vain_yield_ns;
    if (!vain) vain_ = 0;
    return vain;
  }

  Patience patience_;
  uint32_t rounds_ = 0;
  uint32_t sleep_us_ = first_sleep_us;
  int64_t spins_until_ns_ = 0;
  uint32_t vain_ = 0;  // yields in a row that let nobody run
};

}  // namespace coll::sync
