// SPDX-License-Identifier: BSD-3-Clause
// Memory of the user that peers can map: coll_mem_alloc() allocates it. A process that never allocates any has no
// arena.
//
// The arena is one anonymous, sparse file that grows by extents: ranges of the file, each mapped where there is room.
// An extent is at least 64 MiB and as long as all before it together, unless a limit forbids that, so there are few.
// Allocated memory is never moved. Peers map an extent when they first use a buffer in it.
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

// The beginning of the file, by which a peer detects that it has opened a wrong or stale file. The owner is the only
// writer.
struct ArenaHeader {
  static constexpr uint64_t expected_magic = 0x616e657261'6c6c6fULL;  // "ollarena"
  static constexpr size_t most_extents = 64;
  // A range of the file. The extents are in ascending order, without gaps; entries after the last one are zero.
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
  nothing,  // no memory: accesses fault
  copy,     // a private copy; data that other threads write while fork() runs may be in it or not
};

class Arena {
 public:
  // The process's arena, made on first use; null with a reason if memory or a descriptor is not available. A child
  // after fork() gets a new one. Thread safe.
  static Arena* own(std::string& problem);
  // The arena if there is one already.
  static Arena* existing();

  // Returns zeroed memory, aligned to a cache line, from 4096 bytes on to a page, from 2 MiB on to a huge page (and
  // advised to be one). Null if the arena cannot grow. Thread safe.
  void* allocate(size_t bytes, InChild in_child = InChild::nothing);
  // Frees memory; whole pages that become free go back to the system. Returns false if `memory` was not allocated here.
  // Thread safe.
  bool free(void* memory);

  // Offset of the memory in the file, if all of it is in one extent. Thread safe.
  std::optional<uint64_t> offset_of(const void* memory, size_t bytes) const {
    const size_t count = extent_count_.load(std::memory_order_acquire);
    for (size_t e = 0; e < count; e++) {
      const uintptr_t into = uintptr_t(memory) - uintptr_t(extents_[e].base);
      if (into < extents_[e].bytes && bytes <= extents_[e].bytes - into) return extents_[e].offset + into;
    }
    return std::nullopt;
  }
  bool contains(const void* memory, size_t bytes) const { return offset_of(memory, bytes).has_value(); }
  // Bytes of all extents.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  int descriptor() const { return descriptor_; }

  // The handlers of fork(). The copy is made before fork(), so that the parent does not wait for the child; it contains
  // only memory that has pages. If there is no room for it, the child has no memory at these addresses.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

 private:
  struct Allocation {
    size_t bytes;
    InChild in_child;
  };
  // A free range [offset, offset + bytes) of the file.
  struct Hole {
    size_t offset = 0, bytes = 0;
  };
  // A copy of the range [offset, offset + bytes) of the file.
  struct Copy {
    char* memory = nullptr;
    size_t offset = 0, bytes = 0;
  };
  struct Extent {
    char* base = nullptr;
    size_t offset = 0, bytes = 0;  // of the file
    // Nodes of maps are small: an allocator that takes its large memory from the arena is never asked for large memory
    // by the arena.
    std::map<size_t, size_t> holes;  // offset -> bytes, neighbours merged; all of it reads as zero
    Copy copy;                       // while fork() runs

    char* at(size_t place) const { return base + (place - offset); }
  };

  Arena() = default;
  std::string make();
  // REQUIRES for the following: mutex_ is held, or no other thread has this arena yet.
  int grow(size_t bytes);
  void* allocate_in(Extent& extent, size_t bytes, InChild in_child);
  void clear(char* memory, size_t bytes, char* hole, size_t hole_bytes) const;
  static Hole add_hole(Extent& extent, size_t offset, size_t bytes);
  bool has_descriptor() const;
  Copy copy_for_child(const Extent& extent) const;
  bool copy_pages(const Extent& extent, const Copy& copy, size_t first, size_t last) const;

  int descriptor_ = -1;
  FileIdentity file_;           // of the descriptor
  Arena* of_parent_ = nullptr;  // in a child after fork(): the arena of the parent's parent, if it had one
  bool kernel_clears_ = true;   // pages that are given back to it
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> extent_count_{0};
  Extent extents_[ArenaHeader::most_extents];  // once they are counted, only holes and copies change
  std::mutex mutex_;
  std::map<size_t, Allocation> allocated_;  // by offset
};

}  // namespace coll::transport
