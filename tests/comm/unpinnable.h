// SPDX-License-Identifier: BSD-3-Clause
// Memory that the kernel cannot copy between processes.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

// Memory that its process can access but the kernel cannot pin: copies of it between processes fail (EFAULT).
class Unpinnable {
 public:
  explicit Unpinnable(size_t bytes) : bytes_(bytes) {
    const int descriptor = int(syscall(SYS_memfd_secret, 0));
    if (descriptor < 0) return;
    void* memory = ftruncate(descriptor, off_t(bytes)) == 0
                       ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                       : MAP_FAILED;
    if (memory != MAP_FAILED) data_ = static_cast<uint32_t*>(memory);
    close(descriptor);
  }
  ~Unpinnable() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Unpinnable(const Unpinnable&) = delete;
  Unpinnable& operator=(const Unpinnable&) = delete;
  uint32_t* data() const { return data_; }

  static bool can_be_had() { return Unpinnable(4096).data() != nullptr; }
  static constexpr const char* missing = "the kernel has no memfd_secret(), or does not allow it";

 private:
  size_t bytes_;
  uint32_t* data_ = nullptr;
};
