// SPDX-License-Identifier: BSD-3-Clause
#include "launch/claim.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "launch/own_socket.h"

namespace coll::launch {

class Claim {
 public:
  explicit Claim(int descriptor) : socket_(descriptor) {}
  OwnSocket& socket() { return socket_; }

 private:
  OwnSocket socket_;
};

namespace {

// The claims of this process, by name. Never destroyed, because exit handlers may free communicators.
struct Claims {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Claim>> by_name;
};
Claims& claims() {
  static auto* all = new Claims;
  return *all;
}

std::string taken(const JobRank& job_rank, const SocketAddress& name) {
  OwnSocket asking(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  OwnSocket::Peer holder;
  if (asking.is_open() && connect(asking.get(), name.get(), name.bytes) == 0) holder = asking.peer();
  return "rank " + std::to_string(job_rank.rank) + " of " + job_rank.launcher + " is another process" +
         (holder.pid > 0 ? " (" + std::to_string(holder.pid) + ")" : "") +
         ", which has a communicator or is creating one; start a further program with a `collctl run` of its own";
}

}  // namespace

std::shared_ptr<Claim> claim(const JobRank& job_rank, std::string& problem) {
  constexpr int most_that_ask = 64;  // backlog: processes that ask at the same time which process holds the claim
  const std::string text =
      job_rank.id.empty() ? job_rank.job + job_rank.path + "#" + std::to_string(job_rank.rank) : job_rank.id;
  const std::string name = socket_name("claim " + text);
  Claims& all = claims();
  std::lock_guard lock(all.mutex);
  std::weak_ptr<Claim>& known = all.by_name[name];
  // In a child after fork() the socket is closed, because the claim is the parent's.
  if (std::shared_ptr<Claim> held = known.lock(); held != nullptr && held->socket().is_open()) return held;
  const SocketAddress address = SocketAddress::abstract(name);
  auto made = std::make_shared<Claim>(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int socket = made->socket().get();
  if (socket >= 0 && bind(socket, address.get(), address.bytes) == 0 && listen(socket, most_that_ask) == 0) {
    known = made;
    return made;
  }
  problem = errno == EADDRINUSE
                ? taken(job_rank, address)
                : std::string("cannot make a socket: ") + strerror(errno) +
                      "; allow AF_UNIX sockets in the container's seccomp filter, or raise the limit on open files "
                      "(ulimit -n)";
  return nullptr;
}

}  // namespace coll::launch
