// SPDX-License-Identifier: BSD-3-Clause
// What the kernel did for a process, counted: needs root, tracefs and a kernel with the tracepoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace coll::tools {

// An address space's mmap_lock was taken, the thread's own or another's; a thread begins to wait for any lock; a task
// begins to wait at kcoll's gate.
inline constexpr const char* lock_taken_event = "mmap_lock/mmap_lock_acquire_returned";
inline constexpr const char* lock_wait_event = "lock/contention_begin";
inline constexpr const char* gate_wait_event = "kcoll/kcoll_gate";

// How often one of the kernel's tracepoints was met by the calling thread. While a counter is open each meeting costs a
// little more.
class EventCounter {
 public:
  // Null and why.
  static std::unique_ptr<EventCounter> open(const char* event, std::string& problem);
  ~EventCounter();
  EventCounter(const EventCounter&) = delete;
  EventCounter& operator=(const EventCounter&) = delete;

  uint64_t count() const;

 private:
  explicit EventCounter(int descriptor) : descriptor_(descriptor) {}
  const int descriptor_;
};

// Pages that the kernel has pinned for copies since it was booted, for all processes; 0 where it does not tell.
uint64_t pages_pinned();

}  // namespace coll::tools
