// SPDX-License-Identifier: BSD-3-Clause
// The last stage of waiting: a rank sleeps until the awaited rank posts something.
//
// A rank owns one Doorbell. A rank that wants to sleep until the owner posts a flag registers in `sleepers`; the owner
// looks at `sleepers` after every post and rings if it is not zero.
//
// Invariants
//  1. The owner stores its flag, then loads `sleepers`; a sleeper adds itself to `sleepers`, then loads the flag. A
//     full fence on both sides would make one see the other. The owner has none, because every post would pay for it
//     (and the sleeper's addition is one on x86-64 only): while a store is on its way to the cache, for some tens of
//     nanoseconds, both may miss each other. Such a wake-up is lost, and the sleep lasts until its time-out. Hence no
//     sleep is longer than the wait before it (except for the first, see Backoff::sleep_us()), and a lost wake-up at
//     most doubles a wait. membarrier() would fence for the owner, but interrupts every processor on which a registered
//     process runs, including ranks that compute.
//  2. `word` changes with every ring; a sleeper reads it before its last look at the flag, so a ring in between makes
//     the futex call return at once.
//  3. `sleepers` is written by sleepers only, `word` by ranks that ring, mostly the owner: two cache lines.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/flag.h"
#include "sync/protocols.h"

namespace coll::sync {

struct Doorbell {
  alignas(line_bytes) std::atomic<uint32_t> sleepers;
  alignas(line_bytes) std::atomic<uint32_t> word;
};
static_assert(sizeof(Doorbell) == 2 * line_bytes);

// Wakes all sleepers.
void doorbell_ring(Doorbell& bell);

// The owner calls it after every post.
inline void doorbell_after_post(Doorbell& bell) { ring_for_sleepers(bell, doorbell_ring); }

// Sleeps until `ready()` may have become true, the bell rings, or `timeout_us` have passed. Rarely it sleeps for all
// that time although `ready()` has become true: invariant 1.
void doorbell_sleep(Doorbell& bell, bool (*ready)(const void*), const void* context, uint32_t timeout_us);

}  // namespace coll::sync
