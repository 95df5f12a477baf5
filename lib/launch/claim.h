// SPDX-License-Identifier: BSD-3-Clause
// One process at a time is a rank: it holds a claim, a socket with a name that follows from job and rank, as long as one
// of its communicators needs it. The kernel releases the name when the process ends. A program that a rank starts inherits
// the rank's variables and finds the name taken.
//
// The name is one of the network namespace. That suffices: a child in a container of its own does not meet the other ranks
// unless it shares a directory with them, and then rank 0 refuses a rank that has already come.
#pragma once

#include <memory>
#include <string>

#include "launch/place.h"

namespace coll::launch {

class Claim;

// Shared by all communicators of this process. Null with a reason when another process is that rank. Thread safe.
std::shared_ptr<Claim> claim(const Place& place, std::string& problem);

}  // namespace coll::launch
