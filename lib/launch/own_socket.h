// SPDX-License-Identifier: BSD-3-Clause
// A socket of this process only: a child after fork() has it closed before fork() returns there, so that the socket ends
// with its process, and with it what it says to others.
#pragma once

#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include "transport/shared_file.h"

namespace coll::launch {

// Where a Unix socket is found: by a path, or in the network namespace by an abstract name.
struct SocketAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;  // 0: the text is too long

  static SocketAddress abstract(const std::string& name);
  static SocketAddress file(const std::string& path);
  bool fits() const { return bytes != 0; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// "libcoll-" and 32 letters that follow from the text: equal for equal texts, whatever is in them.
std::string socket_name(const std::string& text);

// Thread safe; one object is used by one thread at a time.
class OwnSocket {
 public:
  // Takes a descriptor; -1: none, and errno stays as the call has left it that gave none.
  explicit OwnSocket(int descriptor = -1);
  ~OwnSocket() { close(); }
  OwnSocket(const OwnSocket&) = delete;
  OwnSocket& operator=(const OwnSocket&) = delete;

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  // Not if the program has closed it, and got its number for a file of its own.
  void close();

  // The process at the other end.
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
  OwnSocket *before_ = nullptr, *next_ = nullptr;  // in the list of all
};

}  // namespace coll::launch
