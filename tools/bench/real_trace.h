// SPDX-License-Identifier: BSD-3-Clause
// Joins the recorded steps of all ranks (COLL_TRACE) to one timeline.
#pragma once

#include <cstddef>
#include <string>

namespace coll::tools {

// Checks before the run that the file can be written. Throws Failure if not, or if it is not a regular file. Does not
// change the file.
void check_trace_file(const std::string& file);

// Reads and removes FILE.0, FILE.1 ... and writes FILE, with times relative to the first event, and the size of the
// recorded call. Throws Failure.
void join_traces(const std::string& file, int ranks, size_t bytes);

}  // namespace coll::tools
