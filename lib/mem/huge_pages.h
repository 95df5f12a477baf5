// SPDX-License-Identifier: BSD-3-Clause
// Huge pages for memory that is moved again and again. Once collectives have used a huge page's worth of addresses
// `uses` times, the kernel is asked to put one there (MADV_COLLAPSE, Linux 6.1): it copies what is there, the program
// sees nothing but a pause, and every later pass over that memory, the program's own too, finds its pages sooner.
//
// 1. Only memory that somebody passes as a long buffer is touched, and a page only where a buffer covers a quarter of
//    it: a program's resident memory grows by at most three times its buffers, and not at all where it has touched what
//    surrounds them.
// 2. What the kernel cannot or may not move stays as it is: pinned pages, memory advised against huge pages, mappings
//    that do not span one. Nothing is tried where the system never gives huge pages, or has none left.
// 3. A page is asked for again every 256 uses: other memory may lie there by then. Where it is huge already that takes a
//    microsecond. Counts are a hint: threads that count at the same time may lose some.
#pragma once

#include <cstddef>

namespace coll::mem {

inline constexpr size_t huge_page_bytes = size_t(2) << 20;

class HugePages {
 public:
  static constexpr int uses = 8;
  static constexpr size_t least_bytes = huge_page_bytes / 4;  // of a long buffer, and of one in a page

  // To be called before memory [bytes], which may be null, is used once more. Thread safe.
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
