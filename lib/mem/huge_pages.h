// SPDX-License-Identifier: BSD-3-Clause
// Huge pages for memory that collectives use repeatedly. Once they have used the addresses of a huge page `uses`
// times, this asks the kernel to put one there (MADV_COLLAPSE, Linux 6.1): it copies the contents, the program notices
// only a pause, and later accesses to that memory, the program's own too, find its pages sooner.
//
// 1. Only memory that a caller passes as a long buffer is touched, and a page only if a buffer covers a quarter of it:
//    a program's resident memory grows by at most three times its buffers, and not at all if it has touched the memory
//    around them.
// 2. Memory that the kernel cannot or may not move stays as it is: pinned pages, memory advised against huge pages,
//    mappings that do not span one. Nothing is tried if the system never gives huge pages, or has none left.
// 3. The request is repeated every 256 uses of a page, because other memory may be there by then. If the page is
//    already huge, that takes a microsecond. Counts are a hint: threads that count at the same time may lose some.
#pragma once

#include <cstddef>

namespace coll::mem {

inline constexpr size_t huge_page_bytes = size_t(2) << 20;

class HugePages {
 public:
  static constexpr int uses = 8;
  static constexpr size_t least_bytes = huge_page_bytes / 4;  // of a long buffer, and of its part in a page

  // Call it before each use of memory [bytes], which may be null. Thread safe.
  static void use(const void* memory, size_t bytes) {
    if (bytes >= least_bytes) [[unlikely]]
      use_long(memory, bytes);
  }
  // Whether this kernel makes huge pages on demand and the system's setting lets programs have them.
  static bool are_to_be_had();

 private:
  static void use_long(const void* memory, size_t bytes);
};

}  // namespace coll::mem
