// SPDX-License-Identifier: BSD-3-Clause
#include "sync/doorbell.h"

#include "sync/system_wait.h"

namespace coll::sync {

void doorbell_ring(Doorbell& bell) { ring(bell, futex_wake_all); }

void doorbell_sleep(Doorbell& bell, bool (*ready)(const void*), const void* context, uint32_t timeout_us) {
  sleep_unless(
      bell, [=] { return ready(context); },
      [timeout_us](const std::atomic<uint32_t>& word, uint32_t value) { futex_wait(word, value, timeout_us); });
}

}  // namespace coll::sync
