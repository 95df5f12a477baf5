// SPDX-License-Identifier: BSD-3-Clause
// Compiled loops of a plan: the executor looks up once, before the first iteration, which steps take part, where their
// operands are and which flags they wait for. An iteration streams more data than the first-level cache holds, so that
// look-ups in the plan would miss it just when the next lines should be prefetched: 0.1 us an iteration between cores
// on two L3s.
//
// Invariant: operands are where the views say that this rank knows so far (Run::known_). When it learns of another
// view, the rank leaves the compiled loop, and may enter it again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace coll::exec {

struct Location;

// In iteration `index` it is at base + offset(index): loops move along vectors and around the slots of a ring.
struct CompiledOperand {
  char* base;
  uint32_t mask;
  int32_t stride;
  ptrdiff_t offset(uint64_t index) const { return ptrdiff_t(index & mask) * stride; }
  char* at(uint64_t index) const { return base + offset(index); }
};

// An operand before the addresses of buffers and staging are known.
struct UnboundOperand {
  const Location* location;
  size_t in_buffer;  // byte offset in the first iteration
  uint32_t in_slot;
  int32_t down;  // stride in a buffer
};

struct CompiledStep {
  plan::Kind kind;
  bool conditional;      // on `when` of the instruction
  bool by_index;         // post, wait: the value grows with the iteration
  bool announces;        // wait: as in Instruction; not learnt yet
  bool stream;           // copy: as in Instruction
  bool from_right;       // reduce: as in Instruction
  uint8_t shared;        // copy, reduce: as in Instruction
  uint8_t destinations;  // copy, reduce
  uint8_t sources;
  uint32_t place;    // index of the instruction in its lane
  uint32_t operand;  // copy, reduce: the first one; destinations, then sources
  union {
    std::atomic<uint64_t>* flag;  // post, wait
    size_t elements;              // copy, reduce: of a full chunk
  };
  int64_t value;   // post, wait: from the channel's base; copy, reduce: elements in the first iteration
  uint64_t until;  // iterations from this one on skip it
};

// A loop of a bound plan.
struct CompiledLoop {
  std::vector<CompiledStep> steps;
  std::vector<UnboundOperand> operands;
  uint64_t first;  // all iterations from here on make the same steps; in iteration 0 a chunk may lack its end
};

// A compiled loop of a run, with addresses.
struct RunningLoop {
  std::vector<CompiledStep> steps;
  std::vector<CompiledOperand> operands;
  uint64_t trips = 0;
  uint32_t behind = 0;  // index of the instruction after the loop
  size_t next = 0;      // the step to resume at
  uint64_t known = 0;   // Run::known_ when the loop was entered

  static constexpr int most_sources = 16;
};

}  // namespace coll::exec
