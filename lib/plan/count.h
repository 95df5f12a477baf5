// SPDX-License-Identifier: BSD-3-Clause
// Counts from its steps what a plan moves: data access volume (bytes loaded and stored), and messages by distance.
//
// The counts follow the executor. A copy loads its bytes once and stores them once per destination; a copy whose source
// and destination are the same memory moves nothing. A reduction of m sources loads m times and stores once per
// destination, because its accumulators are in registers. With kernel-assisted copies, a reduction first copies another
// rank's buffer into local memory, and a second destination is a copy of the first.
//
// A message is an ordered pair of ranks between which data flows: a step of one rank loads from or stores to a view of
// the other. A pair counts once, however many steps and chunks it takes; bytes count as moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/access_mode.h"
#include "plan/plan.h"
#include "plan/shape.h"

namespace coll::plan {

struct Traffic {
  uint64_t loaded = 0, stored = 0;  // bytes
  uint64_t total() const { return loaded + stored; }
  Traffic& operator+=(const Traffic& more) {
    loaded += more.loaded;
    stored += more.stored;
    return *this;
  }
};

struct Messages {
  uint64_t messages = 0;
  uint64_t bytes = 0;
};

struct Counts {
  std::string problem;  // "" unless the plan is malformed or cannot finish; verify() says more
  Traffic total;
  Traffic copied;                     // of the total, by copies; the rest by reductions
  std::vector<Traffic> ranks;         // by the rank whose step it is
  std::vector<Messages> by_distance;  // [largest distance class + 1]
  uint64_t messages = 0;
  uint64_t steps = 0;  // steps of all ranks, each iteration of a loop counted
};

// Returns the class of the distance between two different ranks, from 0. An empty function puts all pairs into class 0.
using DistanceClass = std::function<uint8_t(int a, int b)>;

// Counts one run of all ranks. REQUIRES: a shape that has a length for each piece if the plan is irregular, and a shape
// with one count otherwise. Returns Counts with `problem` set if these or the plan are wrong.
Counts count(const Plan& plan, const Shape& shape, size_t element_bytes, AccessMode access,
             const DistanceClass& distance = {}, bool in_place = false);

}  // namespace coll::plan
