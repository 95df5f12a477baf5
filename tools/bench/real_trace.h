// SPDX-License-Identifier: BSD-3-Clause
// Joins the recorded steps of all ranks (COLL_TRACE) to one timeline.
#pragma once

#include <cstddef>
#include <string>

namespace coll::tools {

// Reads and removes FILE.0, FILE.1 ... and writes FILE, with times relative to the first event, and the size of the
// recorded call. Throws Failure.
void join_traces(const std::string& file, int ranks, size_t bytes);

}  // namespace coll::tools
