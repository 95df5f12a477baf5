// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a new communicator get the segment of rank 0: through /proc/PID/fd, or from rank 0 by a socket if
// namespaces prevent that. The first exchange contains the namespaces of all ranks, so all decide the same. If a rank
// needs a socket, a further exchange follows once the sockets exist; their names are derived from the segment's token.
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
  // `addresses`: [ranks]; `segment`: of rank 0; `directory`: for sockets between different network namespaces.
  Rendezvous(int rank, std::vector<transport::Address> addresses, const transport::SegmentAddress& segment,
             std::string directory);

  // Whether some rank and rank 0 cannot open each other's files in /proc. Then no part of the communicator relies on
  // /proc.
  bool namespaces_differ() const { return namespaces_differ_; }
  // Whether ranks are in different pid namespaces, so that only the life mark of such a rank shows that it has exited.
  bool pids_differ() const;

  // Creates this rank's socket if it needs one. Returns "" or the reason of a failure.
  std::string open_socket();
  // On rank 0, once all sockets exist: sends the segment to the ranks that need a socket. Returns "" or a reason; on
  // failure the remaining receivers fail as well. `statuses`: [ranks]; it skips ranks that have failed, which may have
  // no socket.
  std::string pass(const transport::Segment& segment, const std::vector<uint8_t>& statuses);
  // On the other ranks, once all sockets exist. Returns null and sets `problem`, and errno to the reason or 0, or null
  // alone if this rank has failed before.
  std::shared_ptr<transport::Segment> reach(const std::vector<uint8_t>& statuses, std::string& problem);

 private:
  bool needs_socket(size_t rank) const;
  transport::Token name_of_socket(size_t rank) const { return {{segment_.token.words[0], rank + 1}}; }

  const size_t rank_;
  const std::vector<transport::Address> addresses_;
  const transport::SegmentAddress segment_;
  std::string directory_;  // "": abstract sockets suffice
  bool namespaces_differ_ = false;
  std::unique_ptr<transport::DescriptorSocket> socket_;
};

}  // namespace coll::comm
