// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 of a gathering, until all other ranks have come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/gathering.h"

namespace coll::launch {

// Waits for all other ranks, and welcomes them: `ranks` are the connections to them, by rank. "", or why they are not
// complete; then `ranks` are those that have come.
std::string host(const Place& place, const MeetingOptions& options, std::vector<std::unique_ptr<OwnSocket>>& ranks);

// Where rank 0 makes its file; "": nowhere.
std::string meeting_path(const Place& place, const MeetingOptions& options);
// What to do about ranks that do not meet.
std::string meeting_remedy(const Place& place, const MeetingOptions& options);

}  // namespace coll::launch
