// SPDX-License-Identifier: BSD-3-Clause
#include "sync/doorbell.h"

#include "sync/system_wait.h"

namespace coll::sync {

void doorbell_ring(Doorbell& bell) {
  bell.word.fetch_add(1, std::memory_order_release);
  futex_wake_all(bell.word);
}

void doorbell_sleep(Doorbell& bell, bool (*ready)(const void*), const void* context, uint32_t timeout_us) {
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  uint32_t word = bell.word.load(std::memory_order_acquire);
  if (!ready(context)) futex_wait(bell.word, word, timeout_us);
  bell.sleepers.fetch_sub(1, std::memory_order_release);
}

}  // namespace coll::sync
