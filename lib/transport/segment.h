// SPDX-License-Identifier: BSD-3-Clause
// Memory that the ranks of one communicator share: one anonymous file, which one rank makes and every rank maps once. The
// others open it through /proc/PID/fd, or get its descriptor by a socket (descriptor_socket.h).
// It is sparse: a page costs memory once a rank has written to it. All of it reads as zero at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/process.h"

namespace coll::transport {

// What the rank that makes a segment tells the others so that they can open it. Plain data, sent through the bootstrap.
struct SegmentAddress {
  Token token;  // of this segment alone; its second word is 0, as launchers pass on little
  int32_t pid = 0;
  int32_t descriptor = -1;
  uint64_t device = 0, inode = 0;
  uint64_t bytes = 0;
};

// Ranks that are threads of one process share one mapping. It lasts as long as one of them holds it.
class Segment {
 public:
  // The first page is the segment's own; what its users put there begins after this.
  static size_t header_bytes();

  // Null with a reason when there is no memory, descriptor, or address space. Thread safe.
  static std::shared_ptr<Segment> make(size_t bytes, std::string& problem);
  // The segment at that address. `passed`: its descriptor, for the call to close; -1: it is opened through /proc. Null with
  // a reason when it cannot be opened or is not the one that was expected. Thread safe.
  static std::shared_ptr<Segment> reach(const SegmentAddress& address, std::string& problem, int passed = -1);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  char* base() const { return base_; }
  const SegmentAddress& address() const { return address_; }
  // Of the rank that made it; -1 from close() on, and in other processes.
  int descriptor() const { return descriptor_; }
  // To be called by the rank that made it once every rank has mapped it: no process can open it from then on.
  void close();

 private:
  explicit Segment(const SegmentAddress& address) : address_(address) {}
  std::string create();
  std::string map(int descriptor);

  SegmentAddress address_;
  const Token mapper_ = own_token();  // a child after fork() does not have the mapping
  int descriptor_ = -1;               // of the rank that made it, until close()
  char* base_ = nullptr;
};

}  // namespace coll::transport
