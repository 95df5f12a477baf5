// SPDX-License-Identifier: BSD-3-Clause
#include "comm/rendezvous.h"

#include <algorithm>

namespace coll::comm {

using transport::Address;
using transport::DescriptorSocket;
using transport::FileIdentity;
using transport::Namespaces;
using transport::Segment;
using transport::SegmentAddress;
using transport::Token;

Rendezvous::Rendezvous(int rank, std::vector<Address> addresses, std::string directory)
    : rank_(size_t(rank)), addresses_(std::move(addresses)) {
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

Token Rendezvous::open_socket(std::string& problem) {
  const Token name = transport::fresh_token();
  if (rank_ == 0 ? namespaces_differ_ : needs_socket(rank_))
    socket_ = DescriptorSocket::make(name, directory_, problem);
  return name;
}

std::string Rendezvous::pass(const Segment& segment, const std::vector<Token>& names) {
  for (size_t r = 1; r < addresses_.size(); r++) {
    if (!needs_socket(r)) continue;
    const std::string problem = socket_->send(names[r], segment.descriptor());
    if (problem.empty()) continue;
    socket_ = nullptr;  // so the others need not wait
    return "rank " + std::to_string(r) + " " + problem;
  }
  return "";
}

std::shared_ptr<Segment> Rendezvous::reach(const SegmentAddress& address, const std::vector<Token>& names,
                                           std::string& problem) {
  if (!needs_socket(rank_)) return Segment::reach(address, problem);
  const Address& first = addresses_[0];
  const bool shares_users = first.namespaces.user != 0 && first.namespaces.user == addresses_[rank_].namespaces.user;
  const int passed =
      socket_->receive({names[0], first.pid, shares_users}, FileIdentity(address.device, address.inode), problem);
  if (passed >= 0) return Segment::reach(address, problem, passed);
  problem = "rank 0 " + problem;
  return nullptr;
}

}  // namespace coll::comm
