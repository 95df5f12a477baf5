// SPDX-License-Identifier: BSD-3-Clause
// The protocol of exec/neighbor_exchange.h as a plan, for the verifier; only tests call it. It is not in the registry and
// not executed, because a plan cannot express lengths that arrive with the data.
#pragma once

#include <vector>

#include "algo/registry.h"

namespace coll::algo {

// receivers[r] lists the ranks, perhaps r itself, that rank r has a piece for, each once; several messages for one rank
// are one piece. All other pieces of the alltoall are empty. The size of a rank's program depends only on the number of
// its neighbours. Of the hierarchy only the number of ranks is read; root and irregular are ignored. REQUIRES:
// receivers.size() is the number of ranks, also with only_rank.
plan::Plan neighbor_exchange(const PlanRequest& request, const std::vector<std::vector<int>>& receivers);

}  // namespace coll::algo
