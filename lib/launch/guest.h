// SPDX-License-Identifier: BSD-3-Clause
// Any other rank of a gathering, until rank 0 has welcomed it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/gathering.h"

namespace coll::launch {

// Finds rank 0: `ranks` gets one connection, to it. "", or why there is none.
std::string visit(const Place& place, const MeetingOptions& options, std::vector<std::unique_ptr<OwnSocket>>& ranks);

// On a connection to rank 0: says which rank this is, and waits for the welcome. False when rank 0 has gone; with a problem
// when trying again is useless.
bool greet(const OwnSocket& first, const Place& place, const MeetingOptions& options, std::string& problem);

}  // namespace coll::launch
