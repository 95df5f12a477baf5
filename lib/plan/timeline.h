// SPDX-License-Identifier: BSD-3-Clause
// When each step would happen if bytes and flags had fixed costs and every lane its own processor. Not a prediction
// (lib/sim makes those): it shows who waits for whom, and what overlaps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/count.h"
#include "plan/plan.h"

namespace coll::plan {

struct Timeline {
  // A step as it was taken; waits last from when the lane came to them until they were met.
  struct Box {
    uint32_t lane = 0;   // through all ranks
    uint32_t step = 0;   // of the lane
    uint32_t index = 0;  // pass, from 0
    Kind kind = Kind::end;
    int rank = 0;
    double begin = 0, end = 0;
  };
  // A post and a wait that it met; `held` when the wait was not met already.
  struct Arrow {
    uint32_t from_lane = 0, to_lane = 0;
    double from = 0, to = 0;
    bool held = false;
  };
  std::string problem;  // "" unless the plan is malformed or cannot finish
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;
  std::vector<uint32_t> first_lane;  // [ranks + 1]
  double end = 0;
};

// Units of the picture: a copy of the largest extent of any range (other transfers by bytes loaded and stored), a post,
// and the way from a post to a wait.
inline constexpr double copy_units = 4, post_units = 1, flag_units = 1;

Timeline timeline(const Plan& plan, const Shape& shape, size_t element_bytes, Access access);

}  // namespace coll::plan
