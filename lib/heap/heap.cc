// SPDX-License-Identifier: BSD-3-Clause
#include "heap/heap.h"

#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "coll/coll.h"
#include "heap/replace.h"

namespace coll::heap {

Range range;

namespace {

constexpr size_t huge_page = size_t(2) << 20;

void (*log_line)(const char*) = nullptr;
// In a child after fork(), the copy of the heap is private, and allocates no more: the child's new memory is ordinary.
std::atomic<bool> forked{false};
std::atomic<uint64_t> blocks{0}, grown{0};

void log_once(const char* line) {
  static std::atomic<bool> logged{false};
  if (log_line != nullptr && !logged.exchange(true)) log_line(line);
}

// ---- where the heap's memory is from ----

// A slab is one allocation of coll_mem_alloc(), from which jemalloc gets parts in ascending order and returns none. It
// is as long as all slabs before it together, unless that much is not available, so there are few. Unused pages use no
// memory.
constexpr size_t least_slab = size_t(64) << 20, most_slabs = 64;
struct Slab {
  uintptr_t first, last;
};
Slab slabs[most_slabs];  // constant once they are counted
std::atomic<size_t> slab_count{0};
std::mutex slab_mutex;    // held while one is added or used
size_t slab_bytes = 0;    // of all
uintptr_t next_part = 0;  // in the last slab

// REQUIRES: slab_mutex is held.
bool add_slab(size_t bytes) {
  const size_t count = slab_count.load(std::memory_order_relaxed);
  if (count == most_slabs) return false;
  void* memory = nullptr;
  size_t wanted = std::max({bytes, least_slab, slab_bytes});
  while (coll_mem_alloc(wanted, &memory) != COLL_OK) {
    if (wanted == bytes) return false;
    wanted = std::max(bytes, wanted / 2);
  }
  const auto first = reinterpret_cast<uintptr_t>(memory);
  slabs[count] = {first, first + wanted};
  slab_count.store(count + 1, std::memory_order_release);
  slab_bytes += wanted;
  next_part = first;
  if (first < range.low.load(std::memory_order_relaxed)) range.low.store(first, std::memory_order_relaxed);
  if (first + wanted > range.high.load(std::memory_order_relaxed))
    range.high.store(first + wanted, std::memory_order_relaxed);
  return true;
}

// Takes the next part of the last slab; null if the slab is too short.
void* take_part(size_t bytes, size_t alignment) {
  const size_t count = slab_count.load(std::memory_order_relaxed);
  const uintptr_t part = (next_part + alignment - 1) / alignment * alignment;
  if (count == 0 || part > slabs[count - 1].last || slabs[count - 1].last - part < bytes) return nullptr;
  next_part = part + bytes;
  return reinterpret_cast<void*>(part);
}

// ---- the hooks through which jemalloc manages its arena's memory ----

void* grow(extent_hooks_t*, void* at, size_t bytes, size_t alignment, bool* zero, bool* commit, unsigned) {
  if (at != nullptr || forked.load(std::memory_order_relaxed)) return nullptr;
  if (bytes >= huge_page) alignment = std::max(alignment, huge_page);  // jemalloc requests at least a page
  if (bytes > SIZE_MAX - alignment) return nullptr;
  std::lock_guard lock(slab_mutex);
  void* memory = take_part(bytes, alignment);
  if (memory == nullptr && add_slab(bytes + alignment)) memory = take_part(bytes, alignment);
  if (memory == nullptr) return nullptr;
  grown.fetch_add(bytes, std::memory_order_relaxed);
  *zero = *commit = true;
  return memory;
}

// Whether free memory reads as zero after MADV_REMOVE, which some kernels accept without effect. Tested on the first
// pages that are given back, which are free.
bool clears_pages(char* memory, size_t bytes) {
  enum Answer { unknown, yes, no };
  static std::atomic<Answer> answer{unknown};
  if (answer.load(std::memory_order_relaxed) == unknown) {
    volatile char* byte = memory;
    *byte = 1;
    answer.store(madvise(memory, bytes, MADV_REMOVE) == 0 && *byte == 0 ? yes : no, std::memory_order_relaxed);
  }
  return answer.load(std::memory_order_relaxed) == yes;
}

// Returns pages that have been free for a while to the system, also for peers that have them mapped; the addresses
// stay. Returns true if the pages were not returned. jemalloc assumes that returned pages read as zero.
bool give_pages_back(extent_hooks_t*, void* memory, size_t, size_t offset, size_t bytes, unsigned) {
  char* const first = static_cast<char*>(memory) + offset;
  if (forked.load(std::memory_order_relaxed)) return madvise(first, bytes, MADV_DONTNEED) != 0;
  return !clears_pages(first, bytes) || madvise(first, bytes, MADV_REMOVE) != 0;
}

bool may_split(extent_hooks_t*, void*, size_t, size_t, size_t, bool, unsigned) { return false; }
bool may_merge(extent_hooks_t*, void*, size_t, void*, size_t, bool, unsigned) { return false; }

extent_hooks_t hooks = {.alloc = grow, .purge_forced = give_pages_back, .split = may_split, .merge = may_merge};

// Flags that select the arena in jemalloc's calls; 0 if there is none. The first large allocation makes the arena, so
// that a process without any, a launcher or a shell, makes no shared memory.
int arena_flags() {
  static std::atomic<int> flags{0};
  static std::once_flag once;
  if (const int made = flags.load(std::memory_order_acquire)) [[likely]]
    return made;
  std::call_once(once, [] {
    unsigned arena = 0;
    size_t length = sizeof arena;
    extent_hooks_t* own = &hooks;
    if (mallctl("arenas.create", &arena, &length, &own, sizeof own) == 0)
      flags.store(MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE, std::memory_order_release);
    else log_once("COLL_HEAP=shared: shared memory cannot be allocated; the heap uses private memory");
  });
  return flags.load(std::memory_order_acquire);
}

void in_child() { forked.store(true, std::memory_order_relaxed); }

}  // namespace

void start(void (*say)(const char* line)) {
  log_line = say;
  const char* wish = std::getenv("COLL_HEAP");
  const bool wanted = wish != nullptr && std::strcmp(wish, "shared") == 0;
  if (wish != nullptr && !wanted && *wish != 0 && std::strcmp(wish, "off") != 0)
    log_once("COLL_HEAP has an unknown value; use off or shared. The heap uses private memory");
  if (wanted && pthread_atfork(nullptr, nullptr, in_child) != 0) {
    log_once("COLL_HEAP=shared: fork handlers cannot be registered; the heap uses private memory");
    return choose_allocator(false);
  }
  choose_allocator(wanted);
}

bool is_in_slab(uintptr_t address) {
  const size_t count = slab_count.load(std::memory_order_acquire);
  for (size_t s = 0; s < count; s++)
    if (address >= slabs[s].first && address < slabs[s].last) return true;
  return false;
}

Account account() { return {blocks.load(std::memory_order_relaxed), grown.load(std::memory_order_relaxed)}; }

void* allocate(size_t bytes, size_t alignment, Contents contents) {
  if (forked.load(std::memory_order_relaxed)) return nullptr;
  const int kept = errno;
  const int flags = arena_flags();
  if (flags == 0) return nullptr;
  void* memory = mallocx(
      bytes, flags | (alignment > 0 ? MALLOCX_ALIGN(alignment) : 0) | (contents == Contents::zero ? MALLOCX_ZERO : 0));
  if (memory != nullptr) blocks.fetch_add(1, std::memory_order_relaxed);
  errno = kept;
  return memory;
}

void fell_back() {
  if (!forked.load(std::memory_order_relaxed))
    log_once("COLL_HEAP=shared: shared memory is exhausted; further allocations use private memory");
}

void release(void* memory) {
  const int kept = errno;  // like glibc's free()
  dallocx(memory, arena_flags());
  errno = kept;
}

void* resize(void* memory, size_t bytes) { return rallocx(memory, bytes, arena_flags()); }

size_t usable_bytes(const void* memory) { return sallocx(memory, 0); }

}  // namespace coll::heap
