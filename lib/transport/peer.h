// SPDX-License-Identifier: BSD-3-Clause
// Another process (or this one) as collectives see it: its arena mapped here, its memory reachable by pid, its life.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/process.h"

namespace coll::transport {

// What a process tells its peers so that they can reach it. Plain data, sent through the bootstrap.
struct Address {
  Token token;
  int32_t pid = 0;
  int32_t arena_descriptor = -1;
  uint64_t arena_bytes = 0;
};

// Fills in this process's own; makes the arena. A problem is returned as text, "" is fine.
std::string own_address(Address& address);

class Peer {
 public:
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // The peer with that address, shared by all communicators of this process. Null with a reason when its memory
  // cannot be mapped. Thread safe.
  static std::shared_ptr<Peer> reach(const Address& address, std::string& problem);

  bool same_process() const { return same_process_; }
  int pid() const { return address_.pid; }
  char* arena() const { return arena_; }
  uint64_t arena_bytes() const { return address_.arena_bytes; }
  bool ended() const { return life_ && life_->ended(); }
  bool doomed() const { return life_ && life_->doomed(); }

 private:
  explicit Peer(const Address& address) : address_(address) {}
  std::string map();

  Address address_;
  Token mapper_ = own_token();  // the process that mapped its arena: a child after fork() does not have the mapping
  char* arena_ = nullptr;
  bool same_process_ = false;
  std::unique_ptr<Life> life_;
};

}  // namespace coll::transport
