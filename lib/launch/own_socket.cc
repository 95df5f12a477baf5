// SPDX-License-Identifier: BSD-3-Clause
#include "launch/own_socket.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

#include "config/digest.h"

namespace coll::launch {

namespace {

// Held during fork(), so that the child finds the list consistent. No thread allocates memory while it holds the mutex.
std::mutex mutex;
OwnSocket* first = nullptr;

}  // namespace

SocketAddress SocketAddress::abstract(const std::string& name) {
  SocketAddress made;
  if (name.size() + 1 > sizeof made.address.sun_path) return made;
  made.address.sun_family = AF_UNIX;
  memcpy(made.address.sun_path + 1, name.data(), name.size());  // after a zero byte, and without a terminating one
  made.bytes = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

SocketAddress SocketAddress::file(const std::string& path) {
  SocketAddress made;
  if (path.size() + 1 > sizeof made.address.sun_path) return made;
  made.address.sun_family = AF_UNIX;
  memcpy(made.address.sun_path, path.data(), path.size());
  made.bytes = socklen_t(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return made;
}

std::string socket_name(const std::string& text) {
  constexpr uint64_t other = 0x9e3779b97f4a7c15;
  char name[48];
  snprintf(name, sizeof name, "libcoll-%016llx%016llx", static_cast<unsigned long long>(config::digest(text)),
           static_cast<unsigned long long>(config::digest(text, other)));
  return name;
}

void OwnSocket::lock() { mutex.lock(); }
void OwnSocket::unlock() { mutex.unlock(); }

void OwnSocket::close_all() {
  for (OwnSocket* socket = first; socket != nullptr; socket = socket->next_) {
    if (socket->file_.is_of(socket->descriptor_)) ::close(socket->descriptor_);
    socket->descriptor_ = -1;
  }
  unlock();
}

void OwnSocket::watch_forks() {
  static const bool once = pthread_atfork(lock, unlock, close_all) == 0;
  (void)once;
}

OwnSocket::OwnSocket(int descriptor) : descriptor_(descriptor) {
  if (descriptor >= 0) file_ = transport::FileIdentity(descriptor);  // without a descriptor, errno must not change
  watch_forks();
  std::lock_guard guard(mutex);
  next_ = first;
  if (first != nullptr) first->before_ = this;
  first = this;
}

void OwnSocket::close() {
  std::lock_guard guard(mutex);
  if (descriptor_ >= 0 && file_.is_of(descriptor_)) ::close(descriptor_);
  descriptor_ = -1;
  if (before_ != nullptr) before_->next_ = next_;
  else if (first == this) first = next_;
  if (next_ != nullptr) next_->before_ = before_;
  before_ = next_ = nullptr;
}

OwnSocket::Peer OwnSocket::peer() const {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return {};
  return {true, credentials.pid, credentials.uid};
}

}  // namespace coll::launch
