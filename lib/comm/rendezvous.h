// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a communicator to be get the segment of rank 0: through /proc/PID/fd, or from rank 0 by a socket where
// namespaces forbid that. The first exchange tells every rank of the others' namespaces, so all decide the same. If a
// socket is needed, a further exchange tells that the sockets exist; their names follow from the segment's token.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/descriptor_socket.h"
#include "transport/peer.h"
#include "transport/segment.h"

namespace coll::comm {

class Rendezvous {
 public:
  // By rank; `segment`: of rank 0; `directory`: for sockets, where the ranks are in different network namespaces.
  Rendezvous(int rank, std::vector<transport::Address> addresses, const transport::SegmentAddress& segment,
             std::string directory);

  // Some rank cannot open what /proc shows of rank 0, or the reverse. Then no part of the communicator relies on it.
  bool namespaces_differ() const { return namespaces_differ_; }
  // Some rank's pid means nothing to another, so that only its life mark shows its end.
  bool pids_differ() const;

  // Makes this rank's socket, if it needs one; "" or a reason.
  std::string open_socket();
  // Once all sockets exist: passes the segment of rank 0 to the ranks that need that; "" or a reason, with which the others
  // fail as well. `statuses`: of the ranks; one that has failed may have no socket.
  std::string pass(const transport::Segment& segment, const std::vector<uint8_t>& statuses);
  // Once all sockets exist, on all others. Null with a reason, or without where open_socket() had one.
  std::shared_ptr<transport::Segment> reach(std::string& problem);

 private:
  bool needs_socket(size_t rank) const;
  transport::Token name_of_socket(size_t rank) const { return {{segment_.token.words[0], rank + 1}}; }

  const size_t rank_;
  const std::vector<transport::Address> addresses_;
  const transport::SegmentAddress segment_;
  std::string directory_;  // "": abstract sockets do
  bool namespaces_differ_ = false;
  std::unique_ptr<transport::DescriptorSocket> socket_;
};

}  // namespace coll::comm
