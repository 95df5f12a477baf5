// SPDX-License-Identifier: BSD-3-Clause
// The plan twin of exec/neighbor_exchange.h: the same protocol, for the verifier, the counters and drawings. It is not
// in the registry and not executed, because a plan cannot express lengths that arrive with the data.
#pragma once

#include <vector>

#include "algo/registry.h"

namespace coll::algo {

// receivers[r] lists the ranks that rank r has a piece for, each once; several messages for one rank are one piece. All
// other pieces of the alltoall are empty. The size of a rank's program depends only on the number of its neighbours.
plan::Plan neighbor_exchange(const PlanRequest& request, const std::vector<std::vector<int>>& receivers);

}  // namespace coll::algo
