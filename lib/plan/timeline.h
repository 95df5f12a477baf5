// SPDX-License-Identifier: BSD-3-Clause
// The time of each step if bytes and flags had fixed costs and every lane had its own processor. This is no prediction
// (lib/sim makes those): it shows which rank waits for which, and which steps overlap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/count.h"
#include "plan/plan.h"

namespace coll::plan {

struct Timeline {
  // A step that was taken. A wait lasts from the moment the lane reaches it until it is met.
  struct Box {
    uint32_t lane = 0;   // index among the lanes of all ranks
    uint32_t step = 0;   // index in the lane
    uint32_t index = 0;  // iteration, from 0
    Kind kind = Kind::end;
    int rank = 0;
    double begin = 0, end = 0;
  };
  // A post and a wait that it met; `held` if the lane had to wait.
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

// Durations in the units of the picture: a copy of the largest extent of any range (other transfers in proportion to
// the bytes loaded and stored), a post, and the time from a post to a wait that it meets.
inline constexpr double copy_units = 4, post_units = 1, flag_units = 1;

Timeline timeline(const Plan& plan, const Shape& shape, size_t element_bytes, AccessMode access);

}  // namespace coll::plan
