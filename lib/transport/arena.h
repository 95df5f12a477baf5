// SPDX-License-Identifier: BSD-3-Clause
// Memory of the user's that peers can map: one anonymous file, sparse and far larger than what is used of it, so that a
// peer maps it once and everything ever allocated from it is then directly reachable. coll_mem_alloc() hands out memory
// from it. A process that never allocates any has no arena, and a peer maps it when it first reads or writes there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "transport/process.h"

namespace coll::transport {

// What stands at the beginning of every arena; a peer that maps a wrong or stale file notices.
struct ArenaHeader {
  static constexpr uint64_t expected_magic = 0x616e657261'6c6c6fULL;  // "ollarena"
  uint64_t magic;
  Token owner;
};

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

  // Zeroed memory, aligned to a cache line, from one page on to a page, from 2 MiB on to a huge page (and advised to
  // be one). Null when the arena is full. Thread safe.
  void* allocate(size_t bytes, InChild in_child = InChild::nothing);
  // Gives memory back to the system where whole pages become free. False when `memory` was not allocated here.
  bool free(void* memory);

  bool contains(const void* memory, size_t bytes) const {
    uintptr_t offset = uintptr_t(memory) - uintptr_t(base_);
    return offset < bytes_ && bytes <= bytes_ - offset;
  }
  char* base() const { return base_; }
  size_t bytes() const { return bytes_; }
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
  // Of [offset, offset + bytes) of the arena.
  struct Copy {
    char* memory = nullptr;
    size_t offset = 0, bytes = 0;
  };

  Arena() = default;
  std::string make();
  Copy copy_for_child() const;
  bool copy_pages(const Copy& copy, size_t first, size_t last) const;

  char* base_ = nullptr;
  size_t bytes_ = 0;
  int descriptor_ = -1;
  Arena* of_parent_ = nullptr;  // in a child after fork(): that of the parent's parent, if it had one
  std::mutex mutex_;
  // Nodes of maps are small: an allocator that takes large memory from here is never asked for any from in here.
  std::map<size_t, size_t> holes_;          // offset -> bytes, neighbours merged; all of it reads as zero
  std::map<size_t, Allocation> allocated_;  // by offset
  Copy copy_;                               // while fork() runs
};

}  // namespace coll::transport
