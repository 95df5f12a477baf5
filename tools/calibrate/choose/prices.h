// SPDX-License-Identifier: BSD-3-Clause
// Every registered algorithm at its best parameters, priced by running its plan in virtual time.
#pragma once

#include <vector>

#include "tools/calibrate/choose/contest.h"
#include "tools/common/machine.h"

namespace coll::tools {

// Sizes that calls are divided into: up to so many bytes, ascending, up to 16 MiB. In the first the hand-written
// paths are never beaten; a barrier has that one alone, of 0 bytes.
std::vector<size_t> size_classes(plan::Collective collective, int ranks);

// All algorithms that keep the order of operands, so that results never depend on the choice: each with the parameters
// that are best for it, through staged memory and, where the table has it, by kernel copies; and what communicators take
// without a table. Cheapest first. Where the closed formulas' assumptions hold they agree with the virtual run (tests/sim);
// with many ranks they leave only the cheapest to it.
std::vector<Entrant> price_all(plan::Collective collective, size_t bytes, const ModelMachine& machine);

// One way, by running its plan in virtual time; negative when it cannot run.
double price_of(const tune::Choice& choice, size_t bytes, const ModelMachine& machine);

}  // namespace coll::tools
