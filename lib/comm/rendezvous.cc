// SPDX-License-Identifier: BSD-3-Clause
#include "comm/rendezvous.h"

#include <algorithm>
#include <cerrno>

#include "coll/coll.h"

namespace coll::comm {

using transport::Address;
using transport::DescriptorSocket;
using transport::FileIdentity;
using transport::Namespaces;
using transport::Segment;
using transport::SegmentAddress;
using transport::Token;

Rendezvous::Rendezvous(int rank, std::vector<Address> addresses, const SegmentAddress& segment, std::string directory)
    : rank_(size_t(rank)), addresses_(std::move(addresses)), segment_(segment) {
  const Namespaces& of_first = addresses_[0].namespaces;
  for (size_t r = 1; r < addresses_.size(); r++) {
    if (!needs_socket(r)) continue;
    namespaces_differ_ = true;
    const uint32_t net = addresses_[r].namespaces.net;
    if (net != 0 && of_first.net != 0 && net != of_first.net) directory_ = directory;
  }
}

bool Rendezvous::needs_socket(size_t rank) const {
  return !(addresses_[rank].token == addresses_[0].token) &&
         !transport::share_proc(addresses_[rank].namespaces, addresses_[0].namespaces);
}

bool Rendezvous::pids_differ() const {
  return std::ranges::any_of(addresses_, [this](const Address& address) {
    return !(address.token == addresses_[0].token) &&
           !transport::share_pids(address.namespaces, addresses_[0].namespaces);
  });
}

std::string Rendezvous::open_socket() {
  std::string problem;
  if (rank_ == 0 ? namespaces_differ_ : needs_socket(rank_))
    socket_ = DescriptorSocket::make(name_of_socket(rank_), directory_, problem);
  return problem;
}

std::string Rendezvous::pass(const Segment& segment, const std::vector<uint8_t>& statuses) {
  for (size_t r = 1; r < addresses_.size() && socket_ != nullptr; r++) {
    if (!needs_socket(r) || statuses[r] != COLL_OK) continue;
    const std::string problem = socket_->send(name_of_socket(r), segment.descriptor());
    if (problem.empty()) continue;
    socket_ = nullptr;  // so that the other receivers stop waiting
    return "rank " + std::to_string(r) + " " + problem;
  }
  return "";
}

std::shared_ptr<Segment> Rendezvous::reach(const std::vector<uint8_t>& statuses, std::string& problem) {
  if (!needs_socket(rank_)) return Segment::reach(segment_, problem);
  if (statuses[rank_] != COLL_OK) return nullptr;  // pass() sends nothing to this rank
  if (socket_ == nullptr) return nullptr;          // open_socket() has reported the reason
  const Address& first = addresses_[0];
  const bool shares_users = first.namespaces.user != 0 && first.namespaces.user == addresses_[rank_].namespaces.user;
  const int passed = socket_->receive({name_of_socket(0), first.pid, shares_users},
                                      FileIdentity(segment_.device, segment_.inode), problem);
  if (passed >= 0) return Segment::reach(segment_, problem, passed);
  problem = "rank 0 " + problem;
  errno = 0;
  return nullptr;
}

}  // namespace coll::comm
