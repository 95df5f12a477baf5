// SPDX-License-Identifier: BSD-3-Clause
// A socket of this process only. In a child after fork() it is closed before fork() returns, so that the connection
// closes when this process ends, and peers detect that.
#pragma once

#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include "transport/shared_file.h"

namespace coll::launch {

// The address of a Unix socket: a path, or an abstract name in the network namespace.
struct SocketAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;  // 0: the text is too long

  static SocketAddress abstract(const std::string& name);
  static SocketAddress file(const std::string& path);
  bool fits() const { return bytes != 0; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Returns "libcoll-" and 32 hexadecimal digits, a digest of the text. Valid in a path for any text.
std::string socket_name(const std::string& text);

// Different objects may be used by different threads; one object only by one thread at a time.
class OwnSocket {
 public:
  // Takes ownership of a descriptor. For -1, the result of a failed call, errno is preserved.
  explicit OwnSocket(int descriptor = -1);
  ~OwnSocket() { close(); }
  OwnSocket(const OwnSocket&) = delete;
  OwnSocket& operator=(const OwnSocket&) = delete;

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  // Closes the descriptor, unless the program has closed it and its number now belongs to another file.
  void close();

  // The process at the other end of the connection.
  struct Peer {
    bool known = false;
    int pid = 0;  // 0: it is in another pid namespace
    unsigned user = 0;
  };
  Peer peer() const;

 private:
  static void watch_forks();
  static void lock();
  static void unlock();
  static void close_all();

  int descriptor_;
  transport::FileIdentity file_;
  OwnSocket *before_ = nullptr, *next_ = nullptr;  // in the list of all sockets of the process
};

}  // namespace coll::launch
