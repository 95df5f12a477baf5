// SPDX-License-Identifier: BSD-3-Clause
// What a plan moves, counted from its steps: data access volume (bytes loaded and stored), and messages by distance.
//
// Counting follows the executor. A copy loads its bytes once and stores them once per destination; one whose source and
// destination are the same memory moves nothing. A reduction of m sources loads m times and stores once per destination:
// its accumulators live in registers. Where the kernel copies, a reduction from another rank's buffer first copies it
// here, and a second destination is a copy of the first.
//
// A message is an ordered pair of ranks between which data flows: one rank's step loads from or stores to another rank's
// view. However many steps and chunks it takes, it counts once; bytes count as moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/shape.h"

namespace coll::plan {

// How ranks reach each other's buffers.
enum class Access : uint8_t {
  mapped,  // directly, by loads and stores
  copy,    // directly, by a copy of the kernel
  shm,     // not at all: every view is staged
};
const char* name(Access access);

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
  std::vector<Messages> by_distance;  // [largest class + 1]
  uint64_t messages = 0;
  uint64_t steps = 0;  // steps taken by all ranks, each pass of a loop counted
};

// The class of the distance between two different ranks, from 0. Empty: all are of class 0.
using DistanceClass = std::function<uint8_t(int a, int b)>;

// REQUIRES: for an irregular plan a shape that gives each piece its length, for others a count.
Counts count(const Plan& plan, const Shape& shape, size_t element_bytes, Access access,
             const DistanceClass& distance = {}, bool in_place = false);

}  // namespace coll::plan
