// SPDX-License-Identifier: BSD-3-Clause
#include "transport/descriptor_socket.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sync/system_wait.h"

namespace coll::transport {

namespace {

using Clock = std::chrono::steady_clock;

// The address of a socket for bind() and connect().
struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;  // 0: the path is too long

  Name(const Token& token, const std::string& directory) {
    char text[48];
    snprintf(text, sizeof text, "libcoll-%016llx%016llx", static_cast<unsigned long long>(token.words[0]),
             static_cast<unsigned long long>(token.words[1]));
    // The name of an abstract socket begins with a zero byte and ends without one.
    const std::string name = directory.empty() ? std::string(1, '\0') + text : directory + "/" + text;
    if (name.size() >= sizeof address.sun_path) return;
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, name.data(), name.size());
    bytes = socklen_t(offsetof(sockaddr_un, sun_path) + name.size() + (directory.empty() ? 0 : 1));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

std::string cannot_make(const std::string& directory, int reason) {
  if (directory.empty())
    return std::string("cannot make a socket: ") + strerror(reason) +
           "; allow AF_UNIX sockets in the container's seccomp filter, or raise the limit on open files (ulimit -n)";
  return "cannot make a socket in " + directory + ": " + strerror(reason) +
         "; name a short path of a writable directory in COLL_RENDEZVOUS_DIR";
}

// Explains why the socket of the other process does not exist.
std::string not_there(const std::string& directory, int reason) {
  if (directory.empty())
    return "it has ended or given up, or the system forbids a socket between the two (" +
           std::string(strerror(reason)) + ")";
  return "it has ended or given up, or does not share " + directory + " (" + strerror(reason) +
         "); name a directory that all ranks share in COLL_RENDEZVOUS_DIR";
}

// Room for one descriptor and the sender's credentials.
struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))] = {};
};

}  // namespace

std::unique_ptr<DescriptorSocket> DescriptorSocket::make(const Token& name, const std::string& directory,
                                                         std::string& problem) {
  const Name own(name, directory);
  const int number = own.bytes == 0 ? (errno = ENAMETOOLONG, -1) : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (number < 0) return problem = cannot_make(directory, errno), nullptr;
  std::unique_ptr<DescriptorSocket> made(new DescriptorSocket(number, directory));
  const int on = 1;
  // The file that bind() makes gets the mode that the socket has at that time.
  if (setsockopt(number, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 || fchmod(number, S_IRUSR | S_IWUSR) != 0 ||
      bind(number, own.get(), own.bytes) != 0)
    return problem = cannot_make(directory, errno), nullptr;
  if (!directory.empty()) made->path_ = own.address.sun_path;
  return made;
}

DescriptorSocket::~DescriptorSocket() {
  close(socket_);
  if (!path_.empty() && maker_ == own_token()) unlink(path_.c_str());
}

std::string DescriptorSocket::send(const Token& to, int descriptor, std::chrono::milliseconds limit) const {
  constexpr uint32_t between_us = 1000;
  Name name(to, directory_);
  char byte = 0;
  iovec data{&byte, 1};
  Control control;
  msghdr message{};
  message.msg_name = &name.address;
  message.msg_namelen = name.bytes;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(sizeof(int));
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  const auto deadline = Clock::now() + limit;
  while (sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    const int reason = errno;
    // Temporary: its queue is full of other processes' datagrams, or too many descriptors of this user are in flight.
    const bool passes = reason == EAGAIN || reason == ENOBUFS || reason == ETOOMANYREFS || reason == EINTR;
    if (!passes) return "cannot be reached: " + not_there(directory_, reason);
    if (Clock::now() >= deadline)
      return std::string("does not take the shared memory: ") + strerror(reason) + "; see whether it is stopped";
    sync::sleep_us(between_us);
  }
  return "";
}

int DescriptorSocket::receive(const Sender& from, const FileIdentity& file, std::string& problem,
                              std::chrono::milliseconds limit) const {
  constexpr int between_looks_ms = 50;
  const Name sender(from.name, directory_);
  const auto deadline = Clock::now() + limit;
  for (;;) {
    if (connect(socket_, sender.get(), sender.bytes) != 0 && errno != EINTR)
      return problem = "does not pass its shared memory: " + not_there(directory_, errno), -1;
    pollfd readable{socket_, POLLIN, 0};
    while (poll(&readable, 1, between_looks_ms) > 0) {
      const int descriptor = accept(from, file, problem);
      if (descriptor >= 0 || !problem.empty()) return descriptor;
    }
    if (Clock::now() >= deadline)
      return problem = "has not passed its shared memory within " + std::to_string(limit.count() / 1000) +
                       " s, although it lives; see whether it is stopped",
             -1;
  }
}

// Returns the descriptor of one datagram; -1 if it is not from the sender, or, with a reason, if the sender's cannot be
// used.
int DescriptorSocket::accept(const Sender& from, const FileIdentity& file, std::string& problem) const {
  char byte = 0;
  iovec data{&byte, 1};
  Control control;
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  if (recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) return -1;
  int descriptor = -1;
  ucred credentials{};
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    // The padding behind the first descriptor has room for a second one.
    for (size_t at = CMSG_LEN(0); header->cmsg_type == SCM_RIGHTS && at < header->cmsg_len; at += sizeof descriptor) {
      if (descriptor >= 0) close(descriptor);
      memcpy(&descriptor, reinterpret_cast<char*>(header) + at, sizeof descriptor);
    }
    if (header->cmsg_type == SCM_CREDENTIALS) memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
  }
  if (descriptor < 0) {
    if ((message.msg_flags & MSG_CTRUNC) != 0)
      problem =
          "passes its shared memory, but this process has no descriptor left for it; raise the limit on open "
          "files (ulimit -n)";
    return -1;
  }
  if (file.is_of(descriptor) && (from.pid == 0 || credentials.pid == from.pid)) {
    if (!from.shares_users || credentials.uid == getuid()) return descriptor;
    problem = "runs as user " + std::to_string(credentials.uid) + " and this rank as user " + std::to_string(getuid()) +
              "; run all ranks as one user";
  }
  close(descriptor);
  return -1;
}

}  // namespace coll::transport
