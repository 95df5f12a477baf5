// SPDX-License-Identifier: BSD-3-Clause
// A simulated run as a timeline in Chrome's trace event format, which Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "plan/plan.h"
#include "sim/simulate.h"

namespace coll::sim {

// Returns a JSON document with one thread per lane, one slice per copy, reduction and wait, and an arrow from each
// post to the wait that it ends. `about` is a JSON object that describes the run. REQUIRES: `run` is a run of this
// plan with Options::record.
std::string chrome_trace(const plan::Plan& plan, const Result& run, const std::string& about = "{}");

}  // namespace coll::sim
