// SPDX-License-Identifier: BSD-3-Clause
// One timeline of what the ranks of a run have recorded (COLL_TRACE).
#pragma once

#include <cstddef>
#include <string>

namespace coll::tools {

// Before anything is run. Throws Failure when the file cannot be written, or is a device or a directory. Leaves it as it is.
void check_trace_file(const std::string& file);

// Reads and removes FILE.0, FILE.1 ... and writes FILE, with times from the first event on, and the size of the recorded
// call. Throws Failure.
void join_traces(const std::string& file, int ranks, size_t bytes);

}  // namespace coll::tools
