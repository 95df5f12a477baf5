// SPDX-License-Identifier: BSD-3-Clause
#include "sync/doorbell.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace coll::sync {

namespace {
constexpr uint32_t sleep_without_membarrier_us = 500;
}

bool doorbell_prepare() {
  static const bool available = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  return available;
}

void doorbell_ring(Doorbell& bell) {
  bell.word.store(bell.word.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  syscall(SYS_futex, &bell.word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void doorbell_sleep(Doorbell& bell, bool (*ready)(const void*), const void* context, uint32_t timeout_us) {
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  bool fenced = doorbell_prepare() && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
  if (!fenced) timeout_us = std::min(timeout_us, sleep_without_membarrier_us);
  uint32_t word = bell.word.load(std::memory_order_acquire);
  if (!ready(context)) {
    timespec timeout{time_t(timeout_us / 1000000), long(timeout_us % 1000000) * 1000};
    syscall(SYS_futex, &bell.word, FUTEX_WAIT, word, &timeout, nullptr, 0);
  }
  bell.sleepers.fetch_sub(1, std::memory_order_release);
}

}  // namespace coll::sync
