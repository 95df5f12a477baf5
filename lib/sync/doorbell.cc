// SPDX-License-Identifier: BSD-3-Clause
#include "sync/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace coll::sync {

void doorbell_ring(Doorbell& bell) {
  bell.word.store(bell.word.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  syscall(SYS_futex, &bell.word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void doorbell_sleep(Doorbell& bell, bool (*ready)(const void*), const void* context, uint32_t timeout_us) {
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  uint32_t word = bell.word.load(std::memory_order_acquire);
  if (!ready(context)) {
    timespec timeout{time_t(timeout_us / 1000000), long(timeout_us % 1000000) * 1000};
    syscall(SYS_futex, &bell.word, FUTEX_WAIT, word, &timeout, nullptr, 0);
  }
  bell.sleepers.fetch_sub(1, std::memory_order_release);
}

}  // namespace coll::sync
