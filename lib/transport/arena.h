// SPDX-License-Identifier: BSD-3-Clause
// Memory of this process that peers can map: one anonymous file, sparse and far larger than what is used of it, so that
// a peer maps it once and everything ever allocated from it is then directly reachable. No name in any file system.
//
// Communicators keep their flags and staging here (each rank's in its own arena, so its pages lie on its own NUMA
// node), and coll_mem_alloc() hands out memory from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "transport/process.h"

namespace coll::transport {

// What stands at the beginning of every arena; a peer that maps a wrong or stale file notices.
struct ArenaHeader {
  static constexpr uint64_t expected_magic = 0x616e657261'6c6c6fULL;  // "ollarena"
  uint64_t magic;
  Token owner;
};

class Arena {
 public:
  // The process's arena, made on first use; null with a reason when memory or a descriptor cannot be had. A child
  // after fork() gets a new one. Thread safe.
  static Arena* own(std::string& problem);
  // The arena if there is one already.
  static Arena* existing();

  // Zeroed memory, aligned to a cache line, from one page on to a page, from 2 MiB on to a huge page (and advised to
  // be one if `huge`). Null when the arena is full. Thread safe.
  void* allocate(size_t bytes, bool huge = true);
  // Asks for huge pages behind allocated memory, whole ones of it; the system may decline.
  void advise_huge(void* memory, size_t bytes);
  // Backs allocated memory with pages by one call instead of a fault for each; peers, too, then map several at a fault.
  // A hint: kernels before 5.14 leave it to the faults.
  static void touch(void* memory, size_t bytes);
  // Gives memory back to the system where whole pages become free. False when `memory` was not allocated here.
  bool free(void* memory);

  bool contains(const void* memory, size_t bytes) const {
    uintptr_t offset = uintptr_t(memory) - uintptr_t(base_);
    return offset < bytes_ && bytes <= bytes_ - offset;
  }
  char* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }

 private:
  Arena() = default;
  std::string make();

  char* base_ = nullptr;
  size_t bytes_ = 0;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::map<size_t, size_t> holes_;                // offset -> bytes, neighbours merged; all of it reads as zero
  std::unordered_map<size_t, size_t> allocated_;  // offset -> bytes
};

}  // namespace coll::transport
