// SPDX-License-Identifier: BSD-3-Clause
// Predicts the time of every registered algorithm with its best parameters, by simulating its plan.
#pragma once

#include <vector>

#include "tools/calibrate/choose/comparison.h"
#include "tools/common/machine.h"

namespace coll::tools {

// Upper ends of the size classes of calls in bytes, ascending, up to 16 MiB. In the first class nothing beats the
// latency path. A barrier has one class, of 0 bytes.
std::vector<size_t> size_classes(plan::Collective collective, int ranks);

// Returns all algorithms that combine operands in the balanced order, so that results do not depend on the choice,
// cheapest first: each with its best parameters, staged and, if the table has CMA, with kernel-assisted copies; and the
// selection of communicators that have no table. Where the assumptions of the closed formulas hold, they agree with the
// simulation (tests/sim).
std::vector<Candidate> price_all(plan::Collective collective, size_t bytes, const ModelMachine& machine);

// Simulates the plan of one choice and returns its time in microseconds; negative if the plan cannot run.
double price_of(const tune::Choice& choice, size_t bytes, const ModelMachine& machine);

}  // namespace coll::tools
