// SPDX-License-Identifier: BSD-3-Clause
// COLL_HEAP=shared: the program's own large allocations come out of memory that peers can map (coll_mem_alloc), so that
// collectives on them copy once.
//
// The allocator is jemalloc, in an arena of its own that grows by coll_mem_alloc() and whose bookkeeping is its own; the
// names malloc(), free() and so on that lead here are defined in replace.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coll::heap {

// From this size on an allocation comes from the shared heap. Below, libc's allocator is as good or better.
inline constexpr size_t least_bytes = 16384;

// Looks at COLL_HEAP, once, when libcoll is ready and before the program begins. `say` gets a line when something about
// it is worth telling. Nothing changes unless COLL_HEAP is "shared".
void start(void (*say)(const char* line));

// What the heap has given so far, for a log; all zero when it is off. Thread safe.
struct Account {
  uint64_t blocks;       // allocations it served
  uint64_t grown_bytes;  // shared memory it manages; pages that were never written, or are free for long, cost nothing
};
Account account();

// ---- for replace.cc; all thread safe ----

// From the first address that allocate() may give to the last one. Other memory may be in between.
struct Range {
  std::atomic<uintptr_t> low{UINTPTR_MAX}, high{0};
};
extern Range range;
bool is_in_slab(uintptr_t address);
// Whether the memory is allocate()'s.
inline bool owns(const void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return address >= range.low.load(std::memory_order_relaxed) && address < range.high.load(std::memory_order_relaxed) &&
         is_in_slab(address);
}

enum class Contents : uint8_t { any, zero };
// `alignment`: a power of two, or 0 for malloc's. Null when the heap is full, and in a child after fork().
void* allocate(size_t bytes, size_t alignment, Contents contents);
// allocate() gave null, but there was ordinary memory: tells so, once.
void fell_back();
void release(void* memory);
// As realloc() for bytes > 0; null leaves `memory` as it is.
void* resize(void* memory, size_t bytes);
size_t usable_bytes(const void* memory);

}  // namespace coll::heap
