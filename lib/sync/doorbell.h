// SPDX-License-Identifier: BSD-3-Clause
// The last rung of waiting: sleep until the rank that is waited for posts something.
//
// A rank owns one Doorbell. Whoever wants to sleep until that rank posts a flag registers in `sleepers`; the poster
// looks at `sleepers` after every post and rings when it is not zero.
//
// Invariants
//  1. The poster stores its flag, then loads `sleepers`; a sleeper adds itself to `sleepers`, then loads the flag. For
//     no wake-up to be lost one of the two must see the other, which takes a full fence on both sides. The poster's
//     would cost on every post, so the sleeper pays for both: membarrier(GLOBAL_EXPEDITED) makes every running thread
//     of registered processes execute a fence. Where that call is missing sleeps are short instead.
//  2. `word` changes with every ring; a sleeper reads it before its last look at the flag, so a ring in between makes
//     the futex call return at once.
//  3. `sleepers` is written by sleepers only, `word` by the owner only: two cache lines.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/flag.h"

namespace coll::sync {

struct Doorbell {
  alignas(line_bytes) std::atomic<uint32_t> sleepers;
  alignas(line_bytes) std::atomic<uint32_t> word;
};
static_assert(sizeof(Doorbell) == 2 * line_bytes);

// Registers the process for invariant 1; false where the kernel lacks it. Idempotent, thread safe.
bool doorbell_prepare();

// Wakes all sleepers. The owner only.
void doorbell_ring(Doorbell& bell);

// To be called by the owner after every post.
inline void doorbell_after_post(Doorbell& bell) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (bell.sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    doorbell_ring(bell);
}

// Sleeps until `ready()` may have become true, the bell rings, or `timeout_us` have passed.
void doorbell_sleep(Doorbell& bell, bool (*ready)(const void*), const void* context, uint32_t timeout_us);

}  // namespace coll::sync
