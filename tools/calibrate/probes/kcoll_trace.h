// SPDX-License-Identifier: BSD-3-Clause
// kcoll's tracepoints, read through libtracefs and libtraceevent; only where those were found when this was built.
#pragma once

#include <memory>
#include <string>

#include "tools/calibrate/probes/kcoll_times.h"

namespace coll::tools {

// Null and why: built without the libraries, not root, no tracefs, no tracepoints. Events go to a buffer of their own and
// disturb nobody else who traces.
std::unique_ptr<KcollWatch> watch_kcoll_tracepoints(std::string& problem);

}  // namespace coll::tools
