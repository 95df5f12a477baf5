// SPDX-License-Identifier: BSD-3-Clause
// Plans for human readers: a listing of every step, and a picture of a run.
#pragma once

#include <cstddef>
#include <string>

#include "plan/count.h"
#include "plan/plan.h"

namespace coll::plan {

// Lists one step per line; of one rank, or of all ranks if rank is -1.
std::string draw_text(const Plan& plan, int rank = -1);

// Draws a swim lane for every lane of every rank, with time from left to right in units (timeline.h), a box for every
// step that takes time, and an arrow from each post to each wait that it meets, dark if the rank had to wait. Hovering
// over a box shows the step. For a malformed plan the picture contains a description of the problem. A count of a few
// chunks gives the most readable picture.
std::string draw_svg(const Plan& plan, const Shape& shape, size_t element_bytes,
                     AccessMode access = AccessMode::direct);

}  // namespace coll::plan
