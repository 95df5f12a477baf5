// SPDX-License-Identifier: BSD-3-Clause
#include "transport/peer.h"

#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/reached.h"
#include "transport/shared_file.h"

namespace coll::transport {

Address own_address() { return {own_token(), int32_t(getpid()), own_namespaces()}; }

Peer::Peer(const Address& address)
    : address_(address), same_process_(address.token == own_token()), life_(address.pid) {}

std::shared_ptr<Peer> Peer::reach(const Address& address) {
  static auto& known = *new Reached<Peer>;  // never destroyed: exit handlers may free communicators
  const auto lock = known.lock();
  std::weak_ptr<Peer>& entry = known.of(address.token);
  std::shared_ptr<Peer> peer = entry.lock();
  if (peer == nullptr) entry = peer = std::shared_ptr<Peer>(new Peer(address));
  return peer;
}

char* Peer::map_extent(int descriptor, uint64_t offset) {
  std::lock_guard lock(mutex_);
  if (char* memory = mapped(offset)) return memory;
  std::string problem;
  const int opened = open_shared_file(address_.pid, descriptor, problem);
  if (opened < 0) return nullptr;
  // The descriptor may be another file's by now.
  ArenaHeader header{};
  bool is_arena = pread(opened, &header, sizeof header, 0) == ssize_t(sizeof header) &&
                  header.magic == ArenaHeader::expected_magic && header.owner == address_.token;
  const size_t count = extent_count_.load(std::memory_order_relaxed);
  if (count == extents_.size()) is_arena = false;  // its owner does not have more
  Extent extent;
  for (const ArenaHeader::Extent& one : header.extents)
    if (is_arena && offset - one.offset < one.bytes)
      extent = {one.offset, one.bytes, map_shared_file(opened, one.offset, one.bytes)};
  close(opened);
  if (extent.base == nullptr) return nullptr;
  extents_[count] = extent;
  extent_count_.store(count + 1, std::memory_order_release);
  return extent.base + (offset - extent.offset);
}

Peer::~Peer() {
  if (!(mapper_ == own_token())) return;
  for (const Extent& extent : extents_)
    if (extent.base != nullptr) munmap(extent.base, extent.bytes);
}

}  // namespace coll::transport
