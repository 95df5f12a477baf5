// SPDX-License-Identifier: BSD-3-Clause
// Passes an open file to processes that cannot open it through /proc/PID/fd: those in user or pid namespaces of their
// own, and those without a /proc of their own. The process that has the file sends one datagram with the descriptor
// (SCM_RIGHTS) to each receiver.
//
// Invariants
//  1. Every receiver has made its socket before the sender sends, so the sender waits for no receiver. If there is no
//     socket, the receiver has exited.
//  2. The sender keeps its socket until every receiver has the file or has failed. A receiver connects its own socket
//     to it: from then on the kernel accepts datagrams of the sender only. While it waits, it connects again
//     periodically, which fails once the sender has exited or given up. This needs no pid, so it works between pid
//     namespaces.
//  3. The receiver closes a descriptor that is not of the expected file, from any sender.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/process.h"
#include "transport/shared_file.h"

namespace coll::transport {

class DescriptorSocket {
 public:
  // How long a receiver waits for a sender that is alive, and a sender for room in the queue of a receiver.
  static constexpr std::chrono::milliseconds usual_limit{30'000};

  // Makes a socket with that name, which only processes that know the name can address. If `directory` is empty, the
  // socket is abstract, and processes of one network namespace reach it. Otherwise it is a file in `directory` that
  // only its user may open and that the destructor removes; network namespaces then do not matter. Null, with a reason
  // and a fix, if it cannot be made.
  static std::unique_ptr<DescriptorSocket> make(const Token& name, const std::string& directory, std::string& problem);
  ~DescriptorSocket();
  DescriptorSocket(const DescriptorSocket&) = delete;
  DescriptorSocket& operator=(const DescriptorSocket&) = delete;

  // The reasons that the next two functions give continue a sentence that names the rank at the other end.

  // Sends a descriptor to the socket with that name. Returns "", or a reason with a fix.
  std::string send(const Token& to, int descriptor, std::chrono::milliseconds limit = usual_limit) const;
  // The sender as this process knows it.
  struct Sender {
    Token name;
    int32_t pid = 0;           // 0: it has none in this pid namespace
    bool shares_users = true;  // it is in this user namespace, so its user must be that of this process
  };
  // Receives a descriptor of that file from that sender. Returns -1 and a reason if the sender has exited, gives up, or
  // does not send in time.
  int receive(const Sender& from, const FileIdentity& file, std::string& problem,
              std::chrono::milliseconds limit = usual_limit) const;

 private:
  DescriptorSocket(int socket, std::string directory) : socket_(socket), directory_(std::move(directory)) {}
  int accept(const Sender& from, const FileIdentity& file, std::string& problem) const;

  const int socket_;
  const std::string directory_;
  const Token maker_ = own_token();  // a child after fork() must not remove the file
  std::string path_;                 // of the socket's file; "": there is none
};

}  // namespace coll::transport
