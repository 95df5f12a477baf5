// SPDX-License-Identifier: BSD-3-Clause
// The last stage of waiting: sleep until the rank that is waited for posts something.
//
// A rank owns one Doorbell. Whoever wants to sleep until that rank posts a flag registers in `sleepers`; the poster
// looks at `sleepers` after every post and rings when it is not zero.
//
// Invariants
//  1. The poster stores its flag, then loads `sleepers`; a sleeper adds itself to `sleepers`, then loads the flag. A
//     full fence on both sides would make one see the other. The poster has none, because every post would pay for it
//     (and the sleeper's addition is one on x86-64 only): while a store is on its way to the cache, for some tens of
//     nanoseconds, both may miss each other. Such a
//     wake-up is lost, and the sleep lasts until its time-out. Hence no sleep is longer than the wait before it (but
//     for the first, see Backoff::sleep_us()), and a lost wake-up at most doubles a wait. membarrier() would fence for
//     the poster, but interrupts every processor on which a registered process runs, ranks that compute included.
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

// To be called by the owner after every post.
inline void doorbell_after_post(Doorbell& bell) { ring_for_sleepers(bell, doorbell_ring); }

// Sleeps until `ready()` may have become true, the bell rings, or `timeout_us` have passed. Rarely it sleeps until then
// although `ready()` has become true: invariant 1.
void doorbell_sleep(Doorbell& bell, bool (*ready)(const void*), const void* context, uint32_t timeout_us);

}  // namespace coll::sync
