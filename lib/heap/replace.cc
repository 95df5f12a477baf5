// SPDX-License-Identifier: BSD-3-Clause
//
// malloc() and related functions, replaced by a preloaded library as glibc's manual describes ("Replacing malloc").
// Each function is one jump through a table, to the next definition (RTLD_NEXT): the C library's or that of an
// allocator the program brings; only with COLL_HEAP=shared to functions that check the size or the address.
//
// Rejected alternatives. A library of its own in LD_PRELOAD costs nothing when off, but then COLL_HEAP alone would have
// no effect. Patching the addresses in callers misses libraries that are loaded later, and a missed free() is a crash.
// Moving the pages of a buffer when a collective first sees it needs no replacement, but loses what other threads write
// meanwhile and does not notice munmap().
#include "heap/replace.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <type_traits>

#include "heap/heap.h"

namespace coll::heap {
namespace {

struct Family {
  decltype(&::free) free;
  decltype(&::realloc) realloc;
  decltype(&::malloc_usable_size) malloc_usable_size;
  decltype(&::malloc) malloc;
  decltype(&::calloc) calloc;
  decltype(&::memalign) memalign;
  decltype(&::aligned_alloc) aligned_alloc;
  decltype(&::posix_memalign) posix_memalign;
  decltype(&::valloc) valloc;
  decltype(&::pvalloc) pvalloc;
};

// ---- before choose_allocator(): the dynamic linker and constructors already allocate ----

constinit Family next{};  // the functions that would be called without this file

bool find_next() {
  static bool finding = false;  // only one thread runs yet
  if (next.malloc != nullptr) [[likely]]
    return true;
  if (finding) return false;  // dlsym() itself allocates; it works without memory
  finding = true;
  Family found{};
  const auto find = [](auto& member, const char* name) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(RTLD_NEXT, name));
  };
  find(found.free, "free");
  find(found.realloc, "realloc");
  find(found.malloc_usable_size, "malloc_usable_size");
  find(found.calloc, "calloc");
  find(found.memalign, "memalign");
  find(found.aligned_alloc, "aligned_alloc");
  find(found.posix_memalign, "posix_memalign");
  find(found.valloc, "valloc");
  find(found.pvalloc, "pvalloc");
  find(found.malloc, "malloc");
  next = found;
  finding = false;
  return next.malloc != nullptr;
}

constexpr Family not_chosen = {
    .free =
        [](void* memory) noexcept {
          if (find_next()) next.free(memory);
        },
    .realloc = [](void* memory, size_t bytes) noexcept { return find_next() ? next.realloc(memory, bytes) : nullptr; },
    .malloc_usable_size = [](void* memory) noexcept { return find_next() ? next.malloc_usable_size(memory) : 0; },
    .malloc = [](size_t bytes) noexcept { return find_next() ? next.malloc(bytes) : nullptr; },
    .calloc = [](size_t count, size_t bytes) noexcept { return find_next() ? next.calloc(count, bytes) : nullptr; },
    .memalign = [](size_t to, size_t bytes) noexcept { return find_next() ? next.memalign(to, bytes) : nullptr; },
    .aligned_alloc = [](size_t to,
                        size_t bytes) noexcept { return find_next() ? next.aligned_alloc(to, bytes) : nullptr; },
    .posix_memalign =
        [](void** memory, size_t to, size_t bytes) noexcept {
          return find_next() ? next.posix_memalign(memory, to, bytes) : ENOMEM;
        },
    .valloc = [](size_t bytes) noexcept { return find_next() ? next.valloc(bytes) : nullptr; },
    .pvalloc = [](size_t bytes) noexcept { return find_next() ? next.pvalloc(bytes) : nullptr; },
};

// ---- with the shared heap: large blocks come from there while it has memory, the rest from the next allocator ----

// Allocates a large block from the heap; null if the size is small, or the heap is full.
void* large(size_t bytes, size_t alignment = 0, Contents contents = Contents::any) {
  return bytes < least_bytes ? nullptr : allocate(bytes, alignment, contents);
}
// Returns memory of the next allocator; reports it if the block is large.
void* ordinary(void* memory, size_t bytes) {
  if (memory != nullptr && bytes >= least_bytes) fell_back();
  return memory;
}
bool is_power_of_two(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

void* shared_malloc(size_t bytes) noexcept {
  void* memory = large(bytes);
  return memory != nullptr ? memory : ordinary(next.malloc(bytes), bytes);
}

void shared_free(void* memory) noexcept {
  if (owns(memory)) release(memory);
  else next.free(memory);
}

void* shared_calloc(size_t count, size_t bytes) noexcept {
  size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) all = 0;  // the next allocator refuses it
  void* memory = large(all, 0, Contents::zero);
  return memory != nullptr ? memory : ordinary(next.calloc(count, bytes), all);
}

// Large blocks are in the heap and small ones are not, also after a change of size.
void* shared_realloc(void* memory, size_t bytes) noexcept {
  const bool from_heap = owns(memory);
  if (from_heap && bytes >= least_bytes)
    if (void* resized = resize(memory, bytes)) return resized;
  if (!from_heap && (memory == nullptr || bytes < least_bytes))
    return memory == nullptr ? shared_malloc(bytes) : next.realloc(memory, bytes);
  if (bytes == 0) return shared_free(memory), nullptr;
  void* moved = from_heap ? next.malloc(bytes) : large(bytes);
  if (moved == nullptr) return from_heap ? nullptr : ordinary(next.realloc(memory, bytes), bytes);
  std::memcpy(moved, memory, std::min(bytes, from_heap ? usable_bytes(memory) : next.malloc_usable_size(memory)));
  shared_free(memory);
  return moved;
}

void* shared_memalign(size_t alignment, size_t bytes) noexcept {
  void* memory = is_power_of_two(alignment) ? large(bytes, alignment) : nullptr;
  return memory != nullptr ? memory : next.memalign(alignment, bytes);
}

void* shared_aligned_alloc(size_t alignment, size_t bytes) noexcept {
  void* memory = is_power_of_two(alignment) ? large(bytes, alignment) : nullptr;
  return memory != nullptr ? memory : next.aligned_alloc(alignment, bytes);
}

int shared_posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  if (is_power_of_two(alignment) && alignment % sizeof(void*) == 0)
    if (void* found = large(bytes, alignment)) return *memory = found, 0;
  return next.posix_memalign(memory, alignment, bytes);
}

size_t shared_usable_size(void* memory) noexcept {
  return owns(memory) ? usable_bytes(memory) : next.malloc_usable_size(memory);
}

constinit Family current = not_chosen;

}  // namespace

void choose_allocator(bool shared) {
  if (!find_next()) return;
  Family chosen = next;
  if (shared) {
    // valloc() and pvalloc() are obsolete; they always call the next allocator.
    chosen.free = shared_free;
    chosen.realloc = shared_realloc;
    chosen.malloc_usable_size = shared_usable_size;
    chosen.malloc = shared_malloc;
    chosen.calloc = shared_calloc;
    chosen.memalign = shared_memalign;
    chosen.aligned_alloc = shared_aligned_alloc;
    chosen.posix_memalign = shared_posix_memalign;
  }
  current = chosen;
}

}  // namespace coll::heap

using coll::heap::current;

extern "C" {
#pragma GCC visibility push(default)

void* malloc(size_t bytes) noexcept { return current.malloc(bytes); }
void free(void* memory) noexcept { current.free(memory); }
void* calloc(size_t count, size_t bytes) noexcept { return current.calloc(count, bytes); }
void* realloc(void* memory, size_t bytes) noexcept { return current.realloc(memory, bytes); }
void* memalign(size_t alignment, size_t bytes) noexcept { return current.memalign(alignment, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return current.aligned_alloc(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  return current.posix_memalign(memory, alignment, bytes);
}
void* valloc(size_t bytes) noexcept { return current.valloc(bytes); }
void* pvalloc(size_t bytes) noexcept { return current.pvalloc(bytes); }
size_t malloc_usable_size(void* memory) noexcept { return current.malloc_usable_size(memory); }

#pragma GCC visibility pop
}
