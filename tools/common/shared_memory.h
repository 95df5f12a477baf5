// SPDX-License-Identifier: BSD-3-Clause
// Memory that a process shares with its forked children.
#pragma once

#include <cstddef>

#include <sys/mman.h>

#include "tools/command.h"

namespace coll::tools {

// The memory is zeroed, page-aligned, committed on first touch, and unmapped by the destructor. Throws Failure.
class SharedMemory {
 public:
  // `none`: text of the failure.
  explicit SharedMemory(size_t bytes, const char* none =
                                          "cannot allocate shared memory for the processes; use fewer ranks or free "
                                          "memory")
      : bytes_(bytes == 0 ? 1 : bytes) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw Failure(none);
    data_ = static_cast<char*>(memory);
  }
  ~SharedMemory() { munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  char* data_ = nullptr;
  size_t bytes_;
};

}  // namespace coll::tools
