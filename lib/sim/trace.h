// SPDX-License-Identifier: BSD-3-Clause
// A virtual run as a timeline in the trace event format of Chrome, which Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "plan/plan.h"
#include "sim/simulate.h"

namespace coll::sim {

// One thread per lane, one slice per copy, reduction and wait, an arrow from each post to the wait that it ended.
// `about`: what the trace says of itself, a JSON object. REQUIRES: a run of this plan that was recorded.
std::string chrome_trace(const plan::Plan& plan, const Result& run, const std::string& about = "{}");

}  // namespace coll::sim
