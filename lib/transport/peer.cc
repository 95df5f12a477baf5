// SPDX-License-Identifier: BSD-3-Clause
#include "transport/peer.h"

#include <array>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/arena.h"
#include "transport/shared_file.h"

namespace coll::transport {

Address own_address() { return {own_token(), int32_t(getpid())}; }

Peer::Peer(const Address& address) : address_(address), same_process_(address.token == own_token()) {
  if (!same_process_) life_ = std::make_unique<Life>(address.pid);
}

std::shared_ptr<Peer> Peer::reach(const Address& address) {
  static std::mutex mutex;
  // Never destroyed: exit handlers may free communicators.
  static auto& known = *new std::map<std::array<uint64_t, 2>, std::weak_ptr<Peer>>;
  static Token knower;
  std::lock_guard lock(mutex);
  // After fork() this is another process, which does not have its parent's mappings.
  if (!(knower == own_token())) known.clear(), knower = own_token();
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Peer>& entry = known[address.token.words];
  std::shared_ptr<Peer> peer = entry.lock();
  if (peer == nullptr) entry = peer = std::shared_ptr<Peer>(new Peer(address));
  return peer;
}

char* Peer::map_arena(int descriptor) {
  std::lock_guard lock(mutex_);
  if (char* mapped = arena_.load(std::memory_order_relaxed)) return mapped;
  std::string problem;
  const int opened = open_shared_file(address_.pid, descriptor, problem);
  if (opened < 0) return nullptr;
  struct stat file {};
  // The descriptor may be another file's by now.
  ArenaHeader header{};
  const bool is_arena = fstat(opened, &file) == 0 &&
                        pread(opened, &header, sizeof header, 0) == ssize_t(sizeof header) &&
                        header.magic == ArenaHeader::expected_magic && header.owner == address_.token;
  char* mapped = is_arena ? map_shared_file(opened, size_t(file.st_size)) : nullptr;
  close(opened);
  if (mapped == nullptr) return nullptr;
  arena_bytes_ = size_t(file.st_size);
  arena_.store(mapped, std::memory_order_release);
  return mapped;
}

Peer::~Peer() {
  char* const mapped = arena_.load(std::memory_order_relaxed);
  if (mapped != nullptr && mapper_ == own_token()) munmap(mapped, arena_bytes_);
}

}  // namespace coll::transport
