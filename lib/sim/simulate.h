// SPDX-License-Identifier: BSD-3-Clause
// Runs a plan in virtual time on a machine that a table describes: the very steps of lib/plan, with shared links, contended
// page locks, flags that take their time, and ranks that come late. Deterministic: the same arguments give the same run.
//
// A rank is one processor: its lanes take turns, and a copy or reduction keeps it busy to its end, as in the executor.
// What is not modelled: caches that fill up (data that the collective wrote is in its writer's cache), the network below,
// interrupts.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/table.h"
#include "plan/count.h"
#include "plan/plan.h"
#include "topo/hierarchy.h"

namespace coll::sim {

struct Options {
  plan::Access access = plan::Access::mapped;
  model::Mechanism kernel = model::Mechanism::cma;  // what plan::Access::copy is
  bool in_place = false;
  double skew_us = 0;  // ranks arrive at random within so long
  uint64_t seed = 1;
  bool record = false;  // keep boxes and arrows
  // The run stands for the first passes of a longer one: buffers, and what depends on their sizes, are so many times as
  // long as the shape says.
  double buffer_times = 1;
  double limit_us = std::numeric_limits<double>::infinity();  // a run that lasts longer is abandoned
};

struct Box {
  uint32_t lane = 0, step = 0, index = 0;  // lane through all ranks, step of the lane, pass
  int rank = 0;
  plan::Kind kind = plan::Kind::end;
  double begin_us = 0, end_us = 0, bytes = 0;
};

// A post and the wait that it ended.
struct Arrow {
  uint32_t from_lane = 0, to_lane = 0;
  double from_us = 0, to_us = 0;
};

// What a rank did between its arrival and its end. Waiting: no lane of it could go on.
struct RankTime {
  double arrival_us = 0, end_us = 0;
  double copying_us = 0, reducing_us = 0, waiting_us = 0;
};

struct Result {
  std::string problem;  // "" unless the plan is malformed or cannot finish
  double end_us = 0;    // from time 0 to the last rank's end; infinite where the run was abandoned
  std::vector<RankTime> ranks;
  uint64_t steps = 0;
  double most_locking = 0;  // processes that locked pages of one owner at once, at most
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;
  std::vector<uint32_t> first_lane;  // [ranks + 1]
};

// REQUIRES: a plan of all ranks; a hierarchy of as many ranks, on the machine of the table; the table has the mechanisms
// that `access` needs (else Result::problem says so).
Result simulate(const plan::Plan& plan, const plan::Shape& shape, size_t element_bytes,
                const topo::Hierarchy& hierarchy, const model::Table& table, const Options& options);

}  // namespace coll::sim
