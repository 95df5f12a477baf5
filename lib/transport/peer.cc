// SPDX-License-Identifier: BSD-3-Clause
#include "transport/peer.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/arena.h"

namespace coll::transport {

std::string own_address(Address& address) {
  std::string problem;
  Arena* arena = Arena::own(problem);
  if (arena == nullptr) return problem;
  address = {own_token(), int32_t(getpid()), arena->descriptor(), arena->bytes()};
  return "";
}

std::shared_ptr<Peer> Peer::reach(const Address& address, std::string& problem) {
  static std::mutex mutex;
  // Never destroyed: exit handlers may free communicators.
  static auto& known = *new std::map<std::array<uint64_t, 2>, std::weak_ptr<Peer>>;
  static Token knower;
  std::lock_guard lock(mutex);
  // After fork() this is another process, which does not have its parent's mappings.
  if (!(knower == own_token())) known.clear(), knower = own_token();
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  if (auto peer = known[address.token.words].lock()) return peer;
  std::shared_ptr<Peer> peer(new Peer(address));
  problem = peer->map();
  if (!problem.empty()) return nullptr;
  known[address.token.words] = peer;
  return peer;
}

std::string Peer::map() {
  if (address_.token == own_token()) {
    same_process_ = true;
    arena_ = Arena::existing()->base();
    return "";
  }
  life_ = std::make_unique<Life>(address_.pid);
  std::string path = "/proc/" + std::to_string(address_.pid) + "/fd/" + std::to_string(address_.arena_descriptor);
  int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0)
    return "cannot open the shared memory of process " + std::to_string(address_.pid) + " (" + path +
           "): " + strerror(errno) + "; run all ranks as one user, in one pid namespace, with /proc mounted";
  arena_ = map_arena(descriptor, address_.arena_bytes);
  int reason = errno;
  close(descriptor);
  if (arena_ == nullptr)
    return "cannot map the shared memory of process " + std::to_string(address_.pid) + ": " + strerror(reason) +
           "; raise the limit on address space (ulimit -v)";
  auto* header = reinterpret_cast<const ArenaHeader*>(arena_);
  if (header->magic != ArenaHeader::expected_magic || !(header->owner == address_.token))
    return "process " + std::to_string(address_.pid) +
           " is not the rank that was expected; run all ranks in one pid namespace";
  return "";
}

Peer::~Peer() {
  if (arena_ != nullptr && !same_process_ && mapper_ == own_token()) munmap(arena_, address_.arena_bytes);
}

}  // namespace coll::transport
