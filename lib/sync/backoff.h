// SPDX-License-Identifier: BSD-3-Clause
// Waiting in three stages: a rank spins, then yields its core, then blocks on a doorbell.
#pragma once

#include <cstdint>

#include "sync/clock.h"
#include "sync/doorbell.h"
#include "sync/flag.h"
#include "sync/system_wait.h"

namespace coll::sync {

// A yield that returns sooner than this did not run another process.
inline constexpr int64_t useless_yield_ns = 700;
// Approximate time of a yield that runs another process.
inline constexpr uint32_t yield_ns = 1400;
inline constexpr uint32_t first_sleep_us = 500, longest_sleep_us = 20'000;

// How long a wait stays in each stage, in calls of Backoff::pause().
struct SpinPolicy {
  uint32_t spins = 20000;  // with a pause instruction each
  uint32_t yields = 2000;  // with sched_yield() each; then the wait blocks
  // The wait blocks after this many useless yields in a row: no process wants the core, or those that want it belong to
  // another scheduler group (autogroup, cgroup). 0: yields are not timed.
  uint32_t max_useless_yields = 0;
  uint32_t spin_ns = 0;  // minimum time in the first stage; 0: it is not timed
  // Each rank has a core of its own.
  static SpinPolicy own_core() { return {}; }
  // More ranks than cores: the awaited rank may need this core. If all ranks are in one scheduler group, a yield runs
  // it and costs less than blocking, above all on a core that would become idle.
  static SpinPolicy oversubscribed(bool one_group) {
    return {.spins = 1, .yields = 4000, .max_useless_yields = one_group ? 0u : 24u};
  }
  // The same for an awaited rank on another core: a short wait costs less than giving this core up and getting it back.
  SpinPolicy for_another_core() const {
    SpinPolicy longer = *this;
    longer.spin_ns = yield_ns;
    return longer;
  }
};

enum class WaitStage : uint8_t { spin, yield, block };

// One wait. Make a new one after every event that the rank waited for.
class Backoff {
 public:
  explicit Backoff(const SpinPolicy& policy) : policy_(policy) {}

  // Waits a little and returns the stage in which it did. For WaitStage::block it has done nothing: the caller, which
  // knows the awaited rank, sleeps on that rank's doorbell.
  WaitStage pause() {
    uint32_t round = rounds_++;
    if (round < policy_.spins || still_spins()) [[likely]] {
      sync::pause();
      return WaitStage::spin;
    }
    if (round < policy_.spins + policy_.yields) {
      if (policy_.max_useless_yields == 0) yield();
      else if (yield_is_useless() && ++useless_ >= policy_.max_useless_yields) rounds_ = policy_.spins + policy_.yields;
      return WaitStage::yield;
    }
    rounds_ = round;  // stay in the last stage
    return WaitStage::block;
  }
  uint32_t rounds() const { return rounds_; }
  // The last stage was reached because no yield ran another process.
  bool yields_are_useless() const { return policy_.max_useless_yields != 0 && useless_ >= policy_.max_useless_yields; }
  // How long the next sleep may last. Each lasts twice as long as the one before: a wake-up that a doorbell loses at
  // most doubles a wait, and long waits wake up rarely. The longest sleep still detects the death of a rank in time.
  uint32_t next_sleep_us() {
    const uint32_t next = sleep_us_;
    sleep_us_ = next < longest_sleep_us / 2 ? 2 * next : longest_sleep_us;
    return next;
  }

 private:
  bool still_spins() {
    if (policy_.spin_ns == 0) return false;
    const int64_t now = now_ns();
    if (spins_until_ns_ == 0) spins_until_ns_ = now + policy_.spin_ns;
    if (now >= spins_until_ns_) policy_.spin_ns = 0;
    else rounds_ = policy_.spins;  // stay in the first stage
    return policy_.spin_ns != 0;
  }
  bool yield_is_useless() {
    const int64_t before = now_ns();
    yield();
    const bool useless = now_ns() - before < useless_yield_ns;
    if (!useless) useless_ = 0;
    return useless;
  }

  SpinPolicy policy_;
  uint32_t rounds_ = 0;
  uint32_t sleep_us_ = first_sleep_us;
  int64_t spins_until_ns_ = 0;
  uint32_t useless_ = 0;  // yields in a row that did not run another process
};

}  // namespace coll::sync
