// SPDX-License-Identifier: BSD-3-Clause
// A loop with all that its passes need looked up before the first: which steps take part, where operands lie, what flags
// are waited for. When a flag comes its data are asked for at once. And a pass streams more than the nearest cache holds, so
// that what it looks up in the plan comes from farther away, just when the next lines should be on their way: between
// distant cores 0.1 us a pass.
//
// Invariant: operands lie where the views say that are known so far (Run::known_). When more becomes known the loop is
// left, and may become steady once more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace coll::exec {

struct Location;

// In pass `index` at base + offset(index). Loops go down vectors and round slots.
struct SteadyOperand {
  char* base;
  uint32_t mask;
  int32_t stride;
  ptrdiff_t offset(uint64_t index) const { return ptrdiff_t(index & mask) * stride; }
  char* at(uint64_t index) const { return base + offset(index); }
};

// An operand before it is known where buffers and staging lie.
struct SteadyPlace {
  const Location* location;
  size_t in_buffer;  // bytes to the first pass's
  uint32_t in_slot;
  int32_t down;  // stride in a buffer
};

struct SteadyStep {
  plan::Kind kind;
  bool conditional;      // on `when` of the instruction
  bool by_index;         // post, wait: the value grows with the pass
  bool announces;        // wait: as in Instruction; not learnt yet
  bool stream;           // copy: as in Instruction
  bool from_right;       // reduce: as in Instruction
  uint8_t shared;        // copy, reduce: as in Instruction
  uint8_t destinations;  // copy, reduce
  uint8_t sources;
  uint32_t place;    // of the instruction in its lane
  uint32_t operand;  // copy, reduce: the first one; destinations, then sources
  union {
    std::atomic<uint64_t>* flag;  // post, wait
    size_t elements;              // copy, reduce: of a full chunk
  };
  int64_t value;   // post, wait: from the channel's base; copy, reduce: elements in the first pass
  uint64_t until;  // passes from this one on leave it out
};

// A loop as it is bound.
struct SteadyLoop {
  std::vector<SteadyStep> steps;
  std::vector<SteadyPlace> operands;
  uint64_t first;  // from this pass on all are alike, but that in pass 0 a chunk's end may be missing
};

// A loop as it is run.
struct Steady {
  std::vector<SteadyStep> steps;
  std::vector<SteadyOperand> operands;
  uint64_t trips = 0;
  uint32_t behind = 0;  // place of the instruction behind the loop
  size_t next = 0;      // step to go on with
  uint64_t known = 0;   // Run::known_ when it became steady

  static constexpr int most_sources = 16;
};

}  // namespace coll::exec
