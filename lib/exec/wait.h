// SPDX-License-Identifier: BSD-3-Clause
// One wait of a rank for others: how long it spins, yields and sleeps, by what is known of the core of the awaited rank.
// Flags, plans and requests all wait this way.
#pragma once

#include <cstdint>

#include "exec/team.h"
#include "sync/ladder.h"

namespace coll::exec {

class Wait {
 public:
  // `for_it_alone`: for a single rank, and no other rank needs this core meanwhile: see Team::wait().
  explicit Wait(Team& team, bool for_it_alone = false)
      : team_(team), ladder_(for_it_alone && team.crowded ? team.patience.for_another_core() : first(team)) {}

  // Waits a little, and says on which rung; on Rung::sleep nothing was done, and the caller sleeps on the bell of the
  // rank that it waits for, for at most sleep_us(). `awaited()` returns that rank, or -1 if none is known.
  template <typename Awaited>
  sync::Rung climb(Awaited&& awaited) {
    if (team_.shares_core.load(std::memory_order_relaxed) && ladder_.rounds() == 0 && !decided_ && !beside_ &&
        is_beside(awaited()))
      yield_first();
    const sync::Rung rung = ladder_.climb();
    if (rung != sync::Rung::sleep || decided_) [[likely]]
      return rung;
    return decide(awaited());
  }
  uint32_t rounds() const { return ladder_.rounds(); }
  uint32_t sleep_us() { return ladder_.sleep_us(); }
  // To be called when something was achieved.
  void again() { ladder_ = sync::Ladder(first(team_)), decided_ = team_.crowded, beside_ = false; }

 private:
  // Where each rank could have a core of its own, about a microsecond: what comes sooner came from another core.
  static sync::Patience first(const Team& team) {
    return team.crowded ? team.patience : sync::Patience{.spins = 64, .yields = 0};
  }

  // A launcher that does not bind, other load or a quota may put two ranks on one core although each could have its own.
  // Then the awaited rank does not run before this one gives the core up.
  sync::Rung decide(int awaited) {
    if (!beside_) {
      const bool here = is_beside(awaited);
      team_.shares_core.store(here, std::memory_order_relaxed);
      decided_ = !here;
    } else if (ladder_.in_vain()) {
      // No yield let another process run: the rank has moved, or is of another scheduling group.
      team_.shares_core.store(false, std::memory_order_relaxed);
      decided_ = true;
    } else {
      return sync::Rung::sleep;
    }
    if (decided_) ladder_ = sync::Ladder(team_.patience);
    else yield_first();
    return sync::Rung::spin;
  }

  bool is_beside(int awaited) {
    team_.tell_core();
    return team_.is_known_here(awaited);
  }
  void yield_first() {
    beside_ = true;
    ladder_ = sync::Ladder(sync::Patience::crowded(false));
  }

  Team& team_;
  sync::Ladder ladder_;
  bool decided_ = team_.crowded;  // the core of the awaited rank has nothing more to say
  bool beside_ = false;           // it is this one
};

}  // namespace coll::exec
