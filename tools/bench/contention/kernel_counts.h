// SPDX-License-Identifier: BSD-3-Clause
// Counts events of the kernel for one process. Needs root, tracefs and a kernel with these tracepoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace coll::tools {

// The tracepoints: mmap_lock of any address space was taken; a thread starts to wait for any lock; a task starts to
// wait at the gate of kcoll.
inline constexpr const char* lock_taken_event = "mmap_lock/mmap_lock_acquire_returned";
inline constexpr const char* lock_wait_event = "lock/contention_begin";
inline constexpr const char* gate_wait_event = "kcoll/kcoll_gate";

// Counts how often the calling thread hits one tracepoint of the kernel. While a counter is open, each hit is a little
// slower.
class EventCounter {
 public:
  // Returns null and the reason in `problem` if the counter cannot be opened.
  static std::unique_ptr<EventCounter> open(const char* event, std::string& problem);
  ~EventCounter();
  EventCounter(const EventCounter&) = delete;
  EventCounter& operator=(const EventCounter&) = delete;

  uint64_t count() const;

 private:
  explicit EventCounter(int descriptor) : descriptor_(descriptor) {}
  const int descriptor_;
};

// Pages that the kernel has pinned since boot, for all processes; 0 if it does not count them.
uint64_t pages_pinned();

}  // namespace coll::tools
