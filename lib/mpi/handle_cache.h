// SPDX-License-Identifier: BSD-3-Clause
// Maps a handle to the shim's description of it, for the few handles that a thread used most recently.
//
// Invariants
//  1. A cache belongs to one thread (it is thread_local); only the generation is shared.
//  2. invalidate_all() is called before a value is deleted. An entry is valid only while the generation is the one under
//     which it was stored, so no thread finds a deleted value. A thread that learns of a new object with an old handle
//     has synchronised with the thread that freed the old object, so it sees the new generation, too: relaxed order
//     suffices.
#pragma once

#include "mpi/handles.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coll::shim {

template <typename Value>
class HandleCache {
 public:
  Value *find(std::uint64_t handle) const {
    const Entry &entry = entries_[index(handle)];
    const bool known = entry.handle == handle && entry.generation == generation_.load(std::memory_order_relaxed);
    return known ? entry.value : nullptr;
  }

  void store(std::uint64_t handle, Value *value) {
    entries_[index(handle)] = {handle, generation_.load(std::memory_order_relaxed), value};
  }

  // Invalidates the caches of all threads.
  static void invalidate_all() { generation_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t entries = 8;
  struct Entry {
    std::uint64_t handle;
    std::uint64_t generation;  // 0: empty
    Value *value;
  };

  // Handles are small numbers, or addresses of objects of a few hundred bytes: the hash uses the low bits of both.
  static std::size_t index(std::uint64_t handle) { return (handle ^ handle >> 5 ^ handle >> 10) % entries; }

  Entry entries_[entries] = {};
  static inline std::atomic<std::uint64_t> generation_{1};
};

}  // namespace coll::shim
