// SPDX-License-Identifier: BSD-3-Clause
// COLL_HEAP=shared: the program's own large allocations come from memory that peers can map (coll_mem_alloc), so that
// collectives on them copy once.
//
// The allocator is jemalloc, with an arena of its own that grows by coll_mem_alloc() and metadata elsewhere; replace.cc
// defines malloc(), free() and so on, which call it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coll::heap {

// Allocations of this size and larger come from the shared heap. For smaller ones libc's allocator is as good or
// better.
inline constexpr size_t least_bytes = 16384;

// Reads COLL_HEAP; to be called once, when libcoll is ready and before the program begins. `say` is called at most
// once, possibly later, with a line to report. Nothing changes unless COLL_HEAP is "shared".
void start(void (*say)(const char* line));

// What the heap has allocated so far, for a log; all zero if it is off. Thread safe.
struct Account {
  uint64_t allocations;  // that it served
  uint64_t grown_bytes;  // shared memory it manages; pages never written, or free for long, use no memory
};
Account account();

// ---- for replace.cc; all thread safe ----

// The addresses between the lowest and the highest that allocate() may return. Other memory may be in between.
struct Range {
  std::atomic<uintptr_t> low{UINTPTR_MAX}, high{0};
};
extern Range range;
bool is_in_slab(uintptr_t address);
// Whether allocate() returned this memory.
inline bool owns(const void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return address >= range.low.load(std::memory_order_relaxed) && address < range.high.load(std::memory_order_relaxed) &&
         is_in_slab(address);
}

enum class Contents : uint8_t { any, zero };
// `alignment`: a power of two, or 0 for malloc's. Returns null if the heap is full, and in a child after fork().
void* allocate(size_t bytes, size_t alignment, Contents contents);
// Reports, once, that private memory serves an allocation for which allocate() returned null.
void fell_back();
void release(void* memory);
// realloc() for bytes > 0; if it returns null, `memory` is unchanged.
void* resize(void* memory, size_t bytes);
size_t usable_bytes(const void* memory);

}  // namespace coll::heap
