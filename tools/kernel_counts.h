// SPDX-License-Identifier: BSD-3-Clause
// What the kernel did for a process, counted: needs root, tracefs and a kernel with the tracepoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace coll::tools {

// How often the calling thread has taken an address space's mmap_lock, its own or another's. While one is open, the
// kernel's every acquisition costs a little more.
class LockCounter {
 public:
  static std::unique_ptr<LockCounter> open(std::string& problem);
  ~LockCounter();
  LockCounter(const LockCounter&) = delete;
  LockCounter& operator=(const LockCounter&) = delete;

  uint64_t taken() const;

 private:
  explicit LockCounter(int descriptor) : descriptor_(descriptor) {}
  const int descriptor_;
};

// Pages that the kernel has pinned for copies since it was booted, for all processes; 0 where it does not tell.
uint64_t pages_pinned();

}  // namespace coll::tools
