// SPDX-License-Identifier: BSD-3-Clause
// Reads kcoll's tracepoints with libtracefs and libtraceevent, if the build found them.
#pragma once

#include <memory>
#include <string>

#include "tools/calibrate/probes/kcoll_times.h"

namespace coll::tools {

// Returns null and the reason in `problem` if the build lacks the libraries, the user is not root, or tracefs or the
// tracepoints are missing. Events go to a trace instance of its own, so that other users of tracefs are not disturbed.
std::unique_ptr<KcollWatch> watch_kcoll_tracepoints(std::string& problem);

}  // namespace coll::tools
