// SPDX-License-Identifier: BSD-3-Clause
// The system calls of waiting: on a word of shared memory, for some time, or after offering the core to other processes.
// In libcoll only this directory makes them (tests/style/check.py); a wait for a rank uses Backoff.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace coll::sync {

inline timespec time_of_us(uint32_t us) { return {time_t(us / 1'000'000), long(us % 1'000'000) * 1000}; }

// Sleeps until a thread wakes the waiters of the word, unless it has another value already. May return spuriously or
// fail: the caller reads the word again, with the order that it needs. Not FUTEX_PRIVATE_FLAG, because processes share
// the words.
inline void futex_wait(const std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}
// The same for at most `at_most_us`.
inline void futex_wait(const std::atomic<uint32_t>& word, uint32_t value, uint32_t at_most_us) {
  const timespec timeout = time_of_us(at_most_us);
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}
inline void futex_wake_all(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

// Offers the core to other processes of the scheduler group (scheduler_group.h).
inline void yield() { sched_yield(); }

// Sleeps for `us`, or less if a signal handler runs: for events that no other process signals.
inline void sleep_us(uint32_t us) {
  const timespec time = time_of_us(us);
  nanosleep(&time, nullptr);
}

}  // namespace coll::sync
