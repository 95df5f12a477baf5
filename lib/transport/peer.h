// SPDX-License-Identifier: BSD-3-Clause
// Another process, or this one, as collectives use it: its arena, and whether it is alive.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "transport/arena.h"
#include "transport/life.h"
#include "transport/process.h"

namespace coll::transport {

// What peers need to reach a process. Plain data, sent through the bootstrap.
struct Address {
  Token token;
  int32_t pid = 0;  // in the process's own pid namespace; for a receiver in another namespace 0
  Namespaces namespaces;
};

// The address of this process; a child after fork() has another token. Thread safe.
Address own_address();

class Peer {
 public:
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // The peer with that address, shared by all communicators of this process. It need not be alive any more. Thread safe.
  static std::shared_ptr<Peer> reach(const Address& address);

  bool same_process() const { return same_process_; }
  // See Life. False for this process. REQUIRES: the mark is one of the peer.
  bool is_dying(const LifeMark& mark) const { return !same_process_ && life_.is_dying(mark); }

  // Address of the memory at that offset of the peer's arena; it is contiguous in this process as far as it is in the
  // peer, and valid as long as this Peer, but not in a child after fork(). `descriptor`: the arena's in the peer's process.
  // The first call for an extent maps it. Null if it cannot be opened or mapped. REQUIRES: !same_process(). Thread safe.
  char* arena(int descriptor, uint64_t offset) {
    char* const memory = mapped(offset);
    return memory != nullptr ? memory : map_extent(descriptor, offset);
  }

 private:
  struct Extent {
    uint64_t offset = 0, bytes = 0;
    char* base = nullptr;
  };

  explicit Peer(const Address& address);
  char* mapped(uint64_t offset) const {
    const size_t count = extent_count_.load(std::memory_order_acquire);
    for (size_t e = 0; e < count; e++)
      if (offset - extents_[e].offset < extents_[e].bytes) return extents_[e].base + (offset - extents_[e].offset);
    return nullptr;
  }
  char* map_extent(int descriptor, uint64_t offset);

  const Address address_;
  const Token mapper_ =
      own_token();  // the process that maps its arena: a child after fork() does not have the mappings
  const bool same_process_;
  const Life life_;
  std::mutex mutex_;  // held while an extent is mapped
  std::atomic<size_t> extent_count_{0};
  std::array<Extent, ArenaHeader::most_extents> extents_;  // in the order of their first use
};

}  // namespace coll::transport
