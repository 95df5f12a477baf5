// SPDX-License-Identifier: BSD-3-Clause
// Another process (or this one) as collectives see it: its memory reachable by pid, its arena, its life.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "transport/process.h"

namespace coll::transport {

// What a process tells its peers so that they can reach it. Plain data, sent through the bootstrap.
struct Address {
  Token token;
  int32_t pid = 0;
};

Address own_address();

class Peer {
 public:
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // The peer with that address, shared by all communicators of this process. Thread safe.
  static std::shared_ptr<Peer> reach(const Address& address);

  bool same_process() const { return same_process_; }
  int pid() const { return address_.pid; }
  bool ended() const { return life_ && life_->ended(); }
  bool doomed() const { return life_ && life_->doomed(); }

  // The peer's arena, which has that descriptor in the peer's process. The first call maps it. Null when it cannot be
  // opened or mapped here. REQUIRES: !same_process(). Thread safe.
  char* arena(int descriptor) {
    char* const mapped = arena_.load(std::memory_order_acquire);
    return mapped != nullptr ? mapped : map_arena(descriptor);
  }

 private:
  explicit Peer(const Address& address);
  char* map_arena(int descriptor);

  const Address address_;
  const Token mapper_ = own_token();  // the process that maps its arena: a child after fork() does not have the mapping
  const bool same_process_;
  std::unique_ptr<Life> life_;
  std::mutex mutex_;  // held while the arena is mapped
  std::atomic<char*> arena_{nullptr};
  size_t arena_bytes_ = 0;
};

}  // namespace coll::transport
