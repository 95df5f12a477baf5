// SPDX-License-Identifier: BSD-3-Clause
// Memory that the ranks of one communicator share: one anonymous file, which one rank makes and every rank maps once.
// The others open it through /proc/PID/fd, or get its descriptor by a socket (descriptor_socket.h).
// It is sparse: a page costs memory once a rank has written to it. All of it reads as zero at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/process.h"

namespace coll::transport {

// What the other ranks need to open a segment. Plain data, sent through the bootstrap.
struct SegmentAddress {
  Token token;  // of this segment alone; its second word is 0, as launchers forward little
  int32_t pid = 0;
  int32_t descriptor = -1;
  uint64_t device = 0, inode = 0;
  uint64_t bytes = 0;
};

// Ranks that are threads of one process share one mapping. It lasts as long as one of them holds it.
class Segment {
 public:
  // Bytes of the first page, which the segment itself uses; its users' data begins after it.
  static size_t header_bytes();

  // Makes a segment. Null with a reason if there is no memory, descriptor, or address space. Thread safe.
  static std::shared_ptr<Segment> make(size_t bytes, std::string& problem);
  // Maps the segment at that address. `passed`: its descriptor, which the call closes; -1: the segment is opened
  // through /proc. Null with a reason, and errno, if it cannot be opened; errno is 0 if it is another one. Thread safe.
  static std::shared_ptr<Segment> reach(const SegmentAddress& address, std::string& problem, int passed = -1);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  char* base() const { return base_; }
  const SegmentAddress& address() const { return address_; }
  // In the rank that made it, until close(); otherwise -1.
  int descriptor() const { return descriptor_; }
  // The rank that made it calls this once every rank has mapped it: no process can open it from then on.
  void close();

 private:
  explicit Segment(const SegmentAddress& address) : address_(address) {}
  std::string create();
  std::string map(int descriptor);

  SegmentAddress address_;
  const Token mapper_ = own_token();  // a child after fork() does not have the mapping
  int descriptor_ = -1;               // in the rank that made it, until close()
  char* base_ = nullptr;
};

}  // namespace coll::transport
