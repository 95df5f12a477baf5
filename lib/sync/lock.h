// SPDX-License-Identifier: BSD-3-Clause
// A lock between threads of one process. Unlike with a std::mutex, the thread that holds it may call try_lock(), which
// then fails. So a callback that runs under the lock may call functions that skip objects in use.
#pragma once

#include <atomic>
#include <cstdint>

namespace coll::sync {

class Lock {
 public:
  bool try_lock() {
    uint32_t expected = open;
    return word_.compare_exchange_strong(expected, held, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void lock() {
    if (try_lock()) return;
    while (word_.exchange(awaited, std::memory_order_acquire) != open) word_.wait(awaited, std::memory_order_relaxed);
  }
  void unlock() {
    if (word_.exchange(open, std::memory_order_release) == awaited) word_.notify_one();
  }

 private:
  // awaited: a thread may sleep until it is open.
  enum : uint32_t { open, held, awaited };
  std::atomic<uint32_t> word_ = open;
};

}  // namespace coll::sync
