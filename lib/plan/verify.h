// SPDX-License-Identifier: BSD-3-Clause
// Is a plan right? The verifier interprets the programs of all ranks with symbolic contents: every element is undefined,
// the input of one rank, or an expression over inputs, and at the end every element must hold what the collective defines.
//
// Why one run says something about all interleavings. A flag has one writer and only grows; a wait asks for "at least";
// programs have no branch that depends on data or timing. So which post first meets a wait is the same in every
// interleaving, the happens-before relation made of program order and these pairs is the same too, and so is whether the
// programs can finish. The first run of each set of decisions builds this relation with vector clocks (order.h) and
// demands that any two accesses to the same element, one of them a write, are ordered by it. Then every interleaving
// reads the same values, and the contents checked in one hold in all. The further runs, under adversarial and random
// schedules (schedule.h), execute literally what this argument predicts; they guard the argument, and the verifier.
//
// What varies is tried: owners decide for each view whether peers see it directly or staged, so a plan is verified with all
// views staged, all direct, and random mixtures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/shape.h"

namespace coll::plan {

struct VerifyOptions {
  size_t count = 0;            // of the vector, or of every piece
  std::vector<size_t> pieces;  // of an irregular plan: [ranks] elements by sender (gather, allgather) or receiver
                               // (scatter, reduce_scatter), [ranks * ranks] by both (alltoall)
  size_t element_bytes = 64;
  bool in_place = false;    // the input is in the receive buffer (reduce and gather: at the root), of a scatter the
                            // root's result in the send buffer; not for alltoall and reduce_scatter
  bool staged = true;       // try: every view staged,
  bool direct = true;       // ... every view with a buffer direct,
  int mixtures = 2;         // ... and so many random mixtures
  bool adversaries = true;  // run every adversarial schedule as well
  int interleavings = 2;    // and so many random ones, for each set of decisions
  uint64_t seed = 1;        // of all that is random
  bool form = true;         // check the plan's form first; false: it has been checked
};

// How reductions combined their operands, from strict to loose.
enum class Association : uint8_t {
  balanced,   // the balanced fold in rank order (Plan::balanced): the same bits whatever the algorithm
  any_order,  // otherwise: commutative operations only
};

struct Verdict {
  bool ok = false;
  std::string problem;         // "" when ok; else who, where, and the other party
  uint64_t interleavings = 0;  // runs
  uint64_t steps = 0;          // steps taken in all of them
  bool synchronizes = false;   // every end came after every start (whether or not the plan claims so)
  Association association = Association::balanced;  // the loosest of all elements
};

// The shape that `pieces` describes for a collective; count when there are none.
Shape shape_of(const Plan& plan, size_t count, const std::vector<size_t>& pieces);

// REQUIRES: a plan of all ranks (only_rank == -1). A plan that claims to be balanced must be; others must combine
// every rank's input exactly once, and every rank of an allreduce must end with the same bits.
Verdict verify(const Plan& plan, const VerifyOptions& options);

}  // namespace coll::plan
