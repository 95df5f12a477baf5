// SPDX-License-Identifier: BSD-3-Clause
// From a handle to what the shim knows of it, for the few handles a thread used last.
//
// Invariants
//  1. A cache belongs to one thread (it is thread_local); nothing in it is shared but the generation.
//  2. forget_all() is called before a value dies. An entry is used only while the generation is the one it was
//     stored under, so no thread finds a dead value. A thread that learns of a new object behind an old handle
//     has learnt so by synchronising with the thread that freed the old one, hence sees the new generation too:
//     relaxed order is enough.
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
    const Entry &entry = entries_[place(handle)];
    const bool known = entry.handle == handle && entry.generation == generation_.load(std::memory_order_relaxed);
    return known ? entry.value : nullptr;
  }

  void remember(std::uint64_t handle, Value *value) {
    entries_[place(handle)] = {handle, generation_.load(std::memory_order_relaxed), value};
  }

  // In every thread.
  static void forget_all() { generation_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t entries = 8;
  struct Entry {
    std::uint64_t handle;
    std::uint64_t generation;  // 0: empty
    Value *value;
  };

  // Handles are small numbers or addresses of objects of some hundred bytes: fold both kinds of bits.
  static std::size_t place(std::uint64_t handle) { return (handle ^ handle >> 5 ^ handle >> 10) % entries; }

  Entry entries_[entries] = {};
  static inline std::atomic<std::uint64_t> generation_{1};
};

}  // namespace coll::shim
