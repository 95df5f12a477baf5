// SPDX-License-Identifier: BSD-3-Clause
// Only one process at a time is a rank: it holds a claim, which is a socket whose name is derived from job and rank, as
// long as one of its communicators needs it. The kernel releases the name when the process ends. A program that a rank
// starts inherits the rank's variables, but cannot claim the rank because the name is in use.
//
// The name is unique within the network namespace. That suffices: a child in its own container cannot reach the other
// ranks unless it shares a directory with them, and then rank 0 refuses it because a rank with that number is already
// connected.
#pragma once

#include <memory>
#include <string>

#include "launch/job_rank.h"

namespace coll::launch {

class Claim;

// Returns the claim that all communicators of this process share. Returns null and sets `problem` if another process is
// that rank, or on failure. Thread-safe.
std::shared_ptr<Claim> claim(const JobRank& job_rank, std::string& problem);

}  // namespace coll::launch
