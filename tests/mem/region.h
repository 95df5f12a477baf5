// SPDX-License-Identifier: BSD-3-Clause
// Memory whose page sizes are tested.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include "mem/huge_pages.h"

namespace coll::mem {

class NeedsHugePages : public testing::Test {
 protected:
  void SetUp() override {
    if (!HugePages::are_to_be_had())
      GTEST_SKIP() << "this system has no huge pages of 2 MiB on demand: they take Linux 6.1 and another setting than "
                      "never in /sys/kernel/mm/transparent_hugepage/enabled";
  }
};

// Bytes in huge pages of the mapping that contains the address, in this process.
inline size_t huge_bytes_at(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool here = false, found = false;
  size_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin, end;
    size_t kib;
    if (sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      here = begin <= uintptr_t(address) && uintptr_t(address) < end;
    if (here && (sscanf(line.c_str(), "AnonHugePages: %zu kB", &kib) == 1 ||
                 sscanf(line.c_str(), "ShmemPmdMapped: %zu kB", &kib) == 1))
      sum += kib << 10, found = true;
  }
  if (!found) throw std::runtime_error("/proc/self/smaps does not report huge pages");
  return sum;
}

// A mapping of its own, aligned to huge pages, in ordinary pages until huge pages are requested.
class Region {
 public:
  explicit Region(size_t bytes) : bytes_(bytes), reserved_bytes_(bytes + 2 * huge_page_bytes) {
    reserved_ = map(nullptr, reserved_bytes_, PROT_NONE);
    const uintptr_t begin = uintptr_t(reserved_) + huge_page_bytes - 1;
    data_ = reinterpret_cast<void*>(begin / huge_page_bytes * huge_page_bytes);
    renew();
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() { munmap(reserved_, reserved_bytes_); }

  // Maps other memory at the same addresses.
  void renew() {
    map(data_, bytes_, PROT_READ | PROT_WRITE);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // if the system gives huge pages to all memory
    memset(data_, 1, bytes_);
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  }
  char* data() const { return static_cast<char*>(data_); }

  // Bytes of it that are in huge pages.
  size_t huge_bytes() const { return huge_bytes_at(data_); }

 private:
  static void* map(void* address, size_t bytes, int protection) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address != nullptr ? MAP_FIXED : 0);
    void* mapped = mmap(address, bytes, protection, flags, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return mapped;
  }

  size_t bytes_, reserved_bytes_;
  void* reserved_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace coll::mem
