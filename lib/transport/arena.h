// SPDX-License-Identifier: BSD-3-Clause
// Memory of the user's that peers can map: coll_mem_alloc() hands it out. A process that never allocates any has no
// arena.
//
// The arena is one anonymous file, sparse, that grows by extents: ranges of the file of at least 64 MiB, each mapped
// where there is room. An extent is at least as long as all before it together, unless a limit forbids that, so there are
// few, and allocated memory is never moved. Peers map an extent when they first use a buffer in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "transport/process.h"
#include "transport/shared_file.h"

namespace coll::transport {

// What stands at the beginning of the file; a peer that opens a wrong or stale file notices. One writer, the owner.
struct ArenaHeader {
  static constexpr uint64_t expected_magic = 0x616e657261'6c6c6fULL;  // "ollarena"
  static constexpr size_t most_extents = 64;
  // Of the file. The extents are in ascending order, without gaps; behind the last one there are zeros.
  struct Extent {
    uint64_t offset, bytes;
  };
  uint64_t magic;
  Token owner;
  Extent extents[most_extents];
};
static_assert(sizeof(ArenaHeader) <= 4096);

// What a child after fork() finds at the addresses of allocated memory.
enum class InChild : uint8_t {
  nothing,  // a fault
  copy,     // a private copy of what was there; what other threads write while fork() runs may be in it or not
};

class Arena {
 public:
  // The process's arena, made on first use; null with a reason when memory or a descriptor cannot be had. A child
  // after fork() gets a new one. Thread safe.
  static Arena* own(std::string& problem);
  // The arena if there is one already.
  static Arena* existing();

  // Zeroed memory, aligned to a cache line, from 4096 bytes on to a page, from 2 MiB on to a huge page (and advised to
  // be one). Null when the arena cannot grow. Thread safe.
  void* allocate(size_t bytes, InChild in_child = InChild::nothing);
  // Gives memory back to the system where whole pages become free. False when `memory` was not allocated here. Thread
  // safe.
  bool free(void* memory);

  // Where in the file the memory is, if all of it is in one extent. Thread safe.
  std::optional<uint64_t> offset_of(const void* memory, size_t bytes) const {
    const size_t count = extent_count_.load(std::memory_order_acquire);
    for (size_t e = 0; e < count; e++) {
      const uintptr_t into = uintptr_t(memory) - uintptr_t(extents_[e].base);
      if (into < extents_[e].bytes && bytes <= extents_[e].bytes - into) return extents_[e].offset + into;
    }
    return std::nullopt;
  }
  bool contains(const void* memory, size_t bytes) const { return offset_of(memory, bytes).has_value(); }
  // Of all extents.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  int descriptor() const { return descriptor_; }

  // The three parts of fork(). The copy is made before, so that the parent goes on without waiting for the child; it
  // takes what has pages, no more. When there is no room for it, the child has nothing.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

 private:
  struct Allocation {
    size_t bytes;
    InChild in_child;
  };
  // Free: [offset, offset + bytes) of the file.
  struct Hole {
    size_t offset = 0, bytes = 0;
  };
  // Of [offset, offset + bytes) of the file.
  struct Copy {
    char* memory = nullptr;
    size_t offset = 0, bytes = 0;
  };
  struct Extent {
    char* base = nullptr;
    size_t offset = 0, bytes = 0;  // of the file
    // Nodes of maps are small: an allocator that takes large memory from here is never asked for any from in here.
    std::map<size_t, size_t> holes;  // offset -> bytes, neighbours merged; all of it reads as zero
    Copy copy;                       // while fork() runs

    char* at(size_t place) const { return base + (place - offset); }
  };

  Arena() = default;
  std::string make();
  // REQUIRES of the rest: mutex_ is held, or no other thread has this arena yet.
  int grow(size_t bytes);
  void* allocate_in(Extent& extent, size_t bytes, InChild in_child);
  void clear(char* memory, size_t bytes, char* hole, size_t hole_bytes) const;
  static Hole add_hole(Extent& extent, size_t offset, size_t bytes);
  bool has_descriptor() const;
  Copy copy_for_child(const Extent& extent) const;
  bool copy_pages(const Extent& extent, const Copy& copy, size_t first, size_t last) const;

  int descriptor_ = -1;
  FileIdentity file_;           // of the descriptor
  Arena* of_parent_ = nullptr;  // in a child after fork(): that of the parent's parent, if it had one
  bool kernel_clears_ = true;   // pages that it is given back
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> extent_count_{0};
  Extent extents_[ArenaHeader::most_extents];  // no change but of holes and copies once they are counted
  std::mutex mutex_;
  std::map<size_t, Allocation> allocated_;  // by offset
};

}  // namespace coll::transport
