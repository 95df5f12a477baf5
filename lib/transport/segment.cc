// SPDX-License-Identifier: BSD-3-Clause
#include "transport/segment.h"

#include <cerrno>
#include <cstring>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/reached.h"
#include "transport/shared_file.h"

namespace coll::transport {

namespace {

// The beginning of every segment, by which a rank detects that it has mapped a wrong or stale file.
struct Header {
  static constexpr uint64_t expected_magic = 0x746e656d'6765736cULL;  // "lsegment"
  uint64_t magic;
  Token token;
};

// The segments that this process has mapped: ranks that are threads share a mapping.
Reached<Segment>& known() {
  static auto* segments = new Reached<Segment>;  // never destroyed: exit handlers may free communicators
  return *segments;
}

// Also sets errno to the reason.
std::string cannot_map(size_t bytes, int reason) {
  std::string problem = "cannot map " + std::to_string(bytes >> 20) +
                        " MiB of shared memory for a communicator: " + strerror(reason) +
                        "; raise the limits on address space (ulimit -v) and file size (ulimit -f)";
  errno = reason;
  return problem;
}

// Every page is committed on the NUMA node of the rank that writes to it first, whatever the policy of its program
// (numactl --interleave), and stays there: automatic NUMA balancing does not move memory that has a policy of its own.
// It is the file's policy, so one rank sets it for all. On a kernel without NUMA, or in a container that forbids the
// call, there is none.
void place_by_first_write(char* memory, size_t bytes) { syscall(SYS_mbind, memory, bytes, MPOL_LOCAL, nullptr, 0, 0); }

}  // namespace

size_t Segment::header_bytes() { return page_bytes(); }

std::shared_ptr<Segment> Segment::make(size_t bytes, std::string& problem) {
  bytes = round_up(bytes, page_bytes());
  SegmentAddress address{.token = {{fresh_token().words[0], 0}}, .pid = int32_t(getpid()), .bytes = bytes};
  std::shared_ptr<Segment> segment(new Segment(address));
  problem = segment->create();
  if (!problem.empty()) return nullptr;
  const auto lock = known().lock();
  known().of(address.token) = segment;
  return segment;
}

std::shared_ptr<Segment> Segment::reach(const SegmentAddress& address, std::string& problem, int passed) {
  const auto lock = known().lock();
  std::weak_ptr<Segment>& entry = known().of(address.token);
  std::shared_ptr<Segment> segment = entry.lock();
  if (segment == nullptr && passed < 0) passed = open_shared_file(address.pid, address.descriptor, problem);
  int reason = errno;
  if (segment == nullptr && passed >= 0) {
    segment.reset(new Segment(address));
    problem = segment->map(passed);
    reason = errno;
    if (!problem.empty()) segment = nullptr;
    else entry = segment;
  }
  if (passed >= 0) ::close(passed);
  errno = reason;
  return segment;
}

std::string Segment::create() {
  std::string problem;
  descriptor_ = make_shared_file("libcoll segment", problem);
  if (descriptor_ < 0) return problem;
  address_.descriptor = descriptor_;
  if (const int reason = set_length(descriptor_, address_.bytes); reason != 0)
    return cannot_map(address_.bytes, reason);
  struct stat file {};
  if (fstat(descriptor_, &file) != 0) return cannot_map(address_.bytes, errno);
  address_.device = file.st_dev;
  address_.inode = file.st_ino;
  base_ = map_shared_file(descriptor_, 0, address_.bytes);
  if (base_ == nullptr) return cannot_map(address_.bytes, errno);
  place_by_first_write(base_, address_.bytes);
  auto* header = reinterpret_cast<Header*>(base_);
  header->token = address_.token;
  header->magic = Header::expected_magic;
  return "";
}

// Returns "" or what is wrong, and sets errno.
std::string Segment::map(int descriptor) {
  const std::string stranger = "process " + std::to_string(address_.pid) +
                               " is not the rank that was expected, or its program has closed descriptors of libcoll; "
                               "let it close none while a communicator is created";
  struct stat file {};
  const bool same = fstat(descriptor, &file) == 0 && file.st_dev == address_.device && file.st_ino == address_.inode &&
                    uint64_t(file.st_size) == address_.bytes;
  if (!same) {
    errno = 0;
    return stranger;
  }
  base_ = map_shared_file(descriptor, 0, address_.bytes);
  if (base_ == nullptr) return cannot_map(address_.bytes, errno);
  const auto* header = reinterpret_cast<const Header*>(base_);
  errno = 0;
  return header->magic == Header::expected_magic && header->token == address_.token ? "" : stranger;
}

void Segment::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Segment::~Segment() {
  if (!(mapper_ == own_token())) return;
  close();
  if (base_ != nullptr) munmap(base_, address_.bytes);
}

}  // namespace coll::transport
