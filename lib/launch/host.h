// SPDX-License-Identifier: BSD-3-Clause
// The part of rank 0 in a gathering, until all other ranks are connected.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/gathering.h"

namespace coll::launch {

// Waits until all other ranks are connected. `ranks` gets the connections, by rank; Gathering::meet() sends the
// welcome. Returns "" or the reason why some ranks are missing; then `ranks` has the ranks that are connected.
std::string host(const JobRank& job_rank, const config::Rendezvous& options,
                 std::vector<std::unique_ptr<OwnSocket>>& ranks);

// The path of rank 0's socket file; "": it creates none.
std::string meeting_path(const JobRank& job_rank, const config::Rendezvous& options);
// The error message for a socket file of the user that cannot be made.
std::string cannot_listen_at(const std::string& path, const std::string& reason);
// The suggested action for messages about ranks that do not find each other.
std::string meeting_hint(const JobRank& job_rank, const config::Rendezvous& options);

}  // namespace coll::launch
