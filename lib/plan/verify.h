// SPDX-License-Identifier: BSD-3-Clause
// Checks that a plan is correct. The verifier interprets the programs of all ranks with symbolic contents: every
// element is undefined, the input of one rank, or an expression over inputs. At the end every element of a result must
// hold what the collective defines.
//
// One run is valid for all interleavings, for this reason. A flag has one writer and increases monotonically; a wait
// asks for "at least"; programs have no branch that depends on data or timing. Therefore the post that first meets a
// wait is the same in every interleaving. So is the happens-before relation that program order and these pairs define,
// and so is whether the programs can finish. The first run of each set of decisions builds this relation with vector
// clocks (order.h) and requires that it orders any two accesses to the same element, one of them a write. Then every
// interleaving reads the same values, and the contents checked in one hold in all. The further runs, under adversarial
// and random schedules (schedule.h), execute literally what this argument predicts; they test the argument and the
// verifier.
//
// Owners decide for each view whether peers see it directly or staged, so the verifier runs a plan with all views
// staged, all direct, and random mixtures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/shape.h"

namespace coll::plan {

struct VerifyOptions {
  size_t count = 0;            // elements of the vector, or of every piece
  std::vector<size_t> pieces;  // irregular plan: [ranks] elements by sender (gather, allgather) or receiver (scatter,
                               // reduce_scatter), [ranks * ranks] by both (alltoall)
  size_t element_bytes = 64;
  bool in_place = false;    // the input is in the receive buffer (reduce and gather: at the root); in a scatter the
                            // root's result is in the send buffer; not for alltoall and reduce_scatter
  bool staged = true;       // run with every view staged,
  bool direct = true;       // with every view with a buffer direct,
  int mixtures = 2;         // and with this many random mixtures
  bool adversaries = true;  // run every adversarial schedule as well,
  int interleavings = 2;    // and this many random ones, for each set of decisions
  uint64_t seed = 1;        // of all random choices
  bool form = true;         // check the plan's form first; false: the caller has checked it
};

// How reductions combined their operands, from strict to loose.
enum class Association : uint8_t {
  balanced,   // the balanced fold in rank order (Plan::balanced): all algorithms give the same bits
  any_order,  // any other order: commutative operations only
};

struct Verdict {
  bool ok = false;
  std::string problem;         // "" if ok; else the rank, the step, the fault, and the conflicting step if there is one
  uint64_t interleavings = 0;  // number of runs
  uint64_t steps = 0;          // steps taken in all runs
  bool synchronizes = false;   // every end came after every start (whether or not the plan claims so)
  Association association = Association::balanced;  // the loosest of all elements
};

// Returns the shape that `pieces` describes for the plan's collective, or `count` if `pieces` is empty. The shape
// points into `pieces`, which must outlive it.
Shape shape_of(const Plan& plan, size_t count, const std::vector<size_t>& pieces);

// REQUIRES: a plan of all ranks (only_rank == -1). A plan that claims to be balanced must be; other plans must combine
// every rank's input exactly once. All ranks of an allreduce must end with the same bits.
Verdict verify(const Plan& plan, const VerifyOptions& options);

}  // namespace coll::plan
