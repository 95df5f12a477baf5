// SPDX-License-Identifier: BSD-3-Clause
// Runs a plan in virtual time on a machine that a table describes: the steps that the executor runs (lib/plan), with
// shared links, contended page locks, flag latencies, and ranks that arrive late. The result is deterministic: the same
// arguments give the same run.
//
// A rank is one processor: its lanes take turns, and a copy or reduction keeps it busy until it ends, as in the
// executor. Not modelled: which data caches have evicted (data that the collective wrote counts as cached by its
// writer), the network between nodes, interrupts.
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
  plan::AccessMode access = plan::AccessMode::direct;
  model::Mechanism kernel = model::Mechanism::cma;  // the mechanism of plan::AccessMode::remote
  bool in_place = false;
  double skew_us = 0;  // ranks arrive at random times within this interval
  uint64_t seed = 1;
  bool record = false;  // keep boxes and arrows
  // The run represents the first iterations of a longer one: buffers, and all that depends on their sizes, are this
  // many times as long as the shape says.
  double buffer_times = 1;
  double limit_us = std::numeric_limits<double>::infinity();  // a run that takes longer is abandoned
};

struct Box {
  uint32_t lane = 0, step = 0, index = 0;  // lane among all ranks' lanes, step of the lane, iteration
  int rank = 0;
  plan::Kind kind = plan::Kind::end;
  double begin_us = 0, end_us = 0, bytes = 0;
};

// A post and the wait that it ended.
struct Arrow {
  uint32_t from_lane = 0, to_lane = 0;
  double from_us = 0, to_us = 0;
};

// The time of a rank between its arrival and its end. It is waiting while none of its lanes can advance.
struct RankTime {
  double arrival_us = 0, end_us = 0;
  double copying_us = 0, reducing_us = 0, waiting_us = 0;
};

struct Result {
  std::string problem;  // "" unless the arguments do not fit together, the plan is malformed or it cannot finish
  double end_us = 0;    // from time 0 to the last rank's end; infinite if the run was abandoned
  std::vector<RankTime> ranks;
  uint64_t steps = 0;
  double most_locking = 0;  // maximum number of processes that locked pages of one owner at the same time
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;
  std::vector<uint32_t> first_lane;  // [ranks + 1]
};

// REQUIRES: a plan of all ranks; a hierarchy of as many ranks, on the machine of the table; a table with the mechanisms
// that `access` needs. Result::problem reports a hierarchy of other ranks and a missing mechanism.
Result simulate(const plan::Plan& plan, const plan::Shape& shape, size_t element_bytes,
                const topo::Hierarchy& hierarchy, const model::Table& table, const Options& options);

}  // namespace coll::sim
