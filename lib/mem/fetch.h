// SPDX-License-Identifier: BSD-3-Clause
// Prefetches lines of shared memory for write. A line that another core has read is in its cache, too: a store to it
// first needs a read-for-ownership, and stores wait for one another. If prefetched for write, many lines arrive at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace coll::mem {

inline constexpr size_t line_bytes = 64;

// The lines that memory [bytes] has a part of; it begins in the first one.
struct Lines {
  const char* first;
  size_t count;
};
inline Lines lines_of(const void* memory, size_t bytes) {
  const size_t within = reinterpret_cast<uintptr_t>(memory) % line_bytes;
  return {static_cast<const char*>(memory) - within, (within + bytes + line_bytes - 1) / line_bytes};
}

// PREFETCHW: a hint that returns at once, changes no data and never faults.
inline void fetch_for_writing(const void* memory, size_t bytes) {
  auto [line, lines] = lines_of(memory, bytes);
#pragma GCC unroll 4
  for (; lines > 0; lines--, line += line_bytes) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" ::"m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
  }
}

// Calls write(from, length) for consecutive steps of `memory` [bytes], each right after its lines were prefetched for
// write.
template <typename Write>
inline void write_in_steps(const void* memory, size_t bytes, Write write) {
  constexpr size_t step = 1024;  // no more lines than a core can wait for at once
  for (size_t from = 0; from < bytes; from += step) {
    const size_t length = std::min(step, bytes - from);
    fetch_for_writing(static_cast<const char*>(memory) + from, length);
    write(from, length);
  }
}

}  // namespace coll::mem
