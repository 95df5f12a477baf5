// SPDX-License-Identifier: BSD-3-Clause
// The part of every rank except rank 0 in a gathering, until rank 0 has welcomed it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/gathering.h"

namespace coll::launch {

// Connects to rank 0, and appends the connection to `ranks`. Returns "" or the reason of a failure.
std::string visit(const JobRank& job_rank, const config::Rendezvous& options,
                  std::vector<std::unique_ptr<OwnSocket>>& ranks);

// On a connection to rank 0: sends this rank's number, and waits for the welcome. Returns false if rank 0 has closed
// the connection, and sets `problem` if another try is useless.
bool greet(const OwnSocket& first, const JobRank& job_rank, const config::Rendezvous& options, std::string& problem);

}  // namespace coll::launch
