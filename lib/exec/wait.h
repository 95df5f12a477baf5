// SPDX-License-Identifier: BSD-3-Clause
// One wait of a rank for another: how long it spins, yields and blocks depends on the core on which the awaited rank
// was last seen. Flags, plans and requests all wait through this class.
#pragma once

#include <cstdint>
#include <utility>

#include "exec/team.h"
#include "sync/backoff.h"

namespace coll::exec {

class Wait {
 public:
  // `for_it_alone`: no rank but the awaited one needs this core during the wait; see Team::wait().
  explicit Wait(Team& team, bool for_it_alone = false)
      : team_(team),
        backoff_(for_it_alone && team.oversubscribed ? team.spin_policy.for_another_core() : first(team)) {}

  // Waits a little and returns the stage in which it did. For WaitStage::block it has done nothing: the caller sleeps
  // on the awaited rank's doorbell for at most next_sleep_us(). `awaited()` returns that rank, or -1 if it is not known.
  template <typename Awaited>
  sync::WaitStage pause(Awaited&& awaited) {
    if (team_.shares_core.load(std::memory_order_relaxed) && backoff_.rounds() == 0 && !decided_ && !beside_ &&
        is_beside(awaited()))
      yield_first();
    const sync::WaitStage stage = backoff_.pause();
    if (stage != sync::WaitStage::block || decided_) [[likely]]
      return stage;
    return decide(awaited());
  }
  uint32_t next_sleep_us() { return backoff_.next_sleep_us(); }
  // Starts the next wait; call it when the awaited event has come.
  void again() {
    backoff_ = sync::Backoff(first(team_));
    decided_ = team_.oversubscribed;
    beside_ = awake_ = false;
  }
  // Whether to call Team::progress_others after this pause.
  bool looks() const { return awake_ || backoff_.rounds() % rounds_between_looks == 0; }
  // Call it before a sleep. If others_moved, returns true instead: the wait goes on with yields for about as long as a
  // nap takes, even if they run no other process.
  bool stays_awake() {
    if (!std::exchange(others_moved, false)) return false;
    backoff_ = sync::Backoff(sync::SpinPolicy{.spins = 0, .yields = 4 * rounds_between_looks});
    return decided_ = awake_ = true;
  }

 private:
  // If each rank could have a core of its own, spin for about a microsecond: an event that takes longer may come from a
  // rank on this core.
  static sync::SpinPolicy first(const Team& team) {
    return team.oversubscribed ? team.spin_policy : sync::SpinPolicy{.spins = 64, .yields = 0};
  }

  // A launcher that does not bind, other load or a CPU quota may put two ranks on one core although each could have its
  // own. Then the awaited rank does not run before this one yields.
  sync::WaitStage decide(int awaited) {
    if (!beside_) {
      const bool here = is_beside(awaited);
      team_.shares_core.store(here, std::memory_order_relaxed);
      decided_ = !here;
    } else if (backoff_.yields_are_useless()) {
      // No yield ran another process: the rank has migrated, or belongs to another scheduler group.
      team_.shares_core.store(false, std::memory_order_relaxed);
      decided_ = true;
    } else {
      return sync::WaitStage::block;
    }
    if (decided_) backoff_ = sync::Backoff(team_.spin_policy);
    else yield_first();
    return sync::WaitStage::spin;
  }

  bool is_beside(int awaited) {
    team_.publish_core();
    return team_.shares_core_with(awaited);
  }
  void yield_first() {
    beside_ = true;
    backoff_ = sync::Backoff(sync::SpinPolicy::oversubscribed(false));
  }

  Team& team_;
  sync::Backoff backoff_;
  bool decided_ = team_.oversubscribed;  // the policy no longer depends on the awaited rank's core
  bool beside_ = false;                  // the awaited rank was last seen on this core
  bool awake_ = false;                   // since stays_awake()
};

}  // namespace coll::exec
