// SPDX-License-Identifier: BSD-3-Clause
// Checks a plan without running it: every number in it is in range, loops are closed and not nested, posts name only
// the rank's own flags, the rings of views do not overlap, and programs do not grow with the vector.
#pragma once

#include <string>

#include "plan/plan.h"

namespace coll::plan {

// Returns "" if the plan is well formed, else a description of the first problem.
std::string check_form(const Plan& plan);

}  // namespace coll::plan
