// SPDX-License-Identifier: BSD-3-Clause
// What can be said of a plan without running it: every number in it is in range, loops are closed and not nested, posts
// name no foreign flag, the rings of views do not overlap, programs do not grow with the vector.
#pragma once

#include <string>

#include "plan/plan.h"

namespace coll::plan {

// "" when the plan is well formed, else what is wrong with it.
std::string check_form(const Plan& plan);

}  // namespace coll::plan
