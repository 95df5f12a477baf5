// SPDX-License-Identifier: BSD-3-Clause
#include "transport/peer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/arena.h"

namespace coll::transport {

namespace {

// The user that a process runs as, and the owner of its files in /proc, which is root where it is not dumpable. -1: not to
// be found out.
struct Users {
  long runs_as = -1, shown_as = -1;
};
Users users_of(const std::string& process) {
  Users users;
  struct stat entry {};
  if (stat((process + "/status").c_str(), &entry) == 0) users.shown_as = long(entry.st_uid);
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen((process + "/status").c_str(), "re"), &fclose);
  char line[256];
  while (file != nullptr && fgets(line, sizeof line, file.get()) != nullptr)
    if (sscanf(line, "Uid: %*d %ld", &users.runs_as) == 1) break;
  return users;
}

// What to do about a process whose shared memory cannot be opened.
std::string remedy(int pid, int error) {
  const Users users = error == EACCES ? users_of("/proc/" + std::to_string(pid)) : Users();
  if (users.runs_as >= 0 && users.runs_as != long(geteuid()))
    return "it runs as user " + std::to_string(users.runs_as) + " and this rank as user " + std::to_string(geteuid()) +
           "; run all ranks as one user";
  if (users.runs_as >= 0 && users.runs_as != users.shown_as)
    return "it is not dumpable, as after setuid() without exec, or of a program that its user may not read; call "
           "prctl(PR_SET_DUMPABLE, 1) in it before it creates a communicator";
  return "run all ranks as one user, in one pid namespace, with /proc mounted";
}

}  // namespace

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
  int reason = errno;
  if (descriptor < 0)
    return "cannot open the shared memory of process " + std::to_string(address_.pid) + " (" + path +
           "): " + strerror(reason) + "; " + remedy(address_.pid, reason);
  arena_ = map_arena(descriptor, address_.arena_bytes);
  reason = errno;
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
