// SPDX-License-Identifier: BSD-3-Clause
// Plans for the eye: a listing of every step, and a picture of a run.
#pragma once

#include <cstddef>
#include <string>

#include "plan/count.h"
#include "plan/plan.h"

namespace coll::plan {

// A line per step; of one rank, or of all when rank is -1.
std::string draw_text(const Plan& plan, int rank = -1);

// A swim lane for every lane of every rank, time from left to right in units (timeline.h), a box for every step that
// takes time, an arrow from each post to the waits that it meets: dark where somebody had to wait. Hovering over a box
// tells the step. A malformed plan gives a picture that says what is wrong. Best with a few chunks: choose the count.
std::string draw_svg(const Plan& plan, const Shape& shape, size_t element_bytes, Access access = Access::mapped);

}  // namespace coll::plan
