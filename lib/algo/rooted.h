// SPDX-License-Identifier: BSD-3-Clause
// Scatter and gather, regular and irregular, from the same generators: a gather is a scatter with reversed data flow.
// `what` is Collective::scatter or Collective::gather.
#pragma once

#include "algo/registry.h"

namespace coll::algo {

// The peers move their pieces out of or into the root's buffer, `k` at a time; 0: all at once. Peers take their turns
// in the order of their distance from the root: each waits for the k-th one before it, and the root waits for the last
// k (CMA IV-A.1, IV-A.3; KNEM V-B).
plan::Plan peers_move(const PlanRequest& request, plan::Collective what, const char* name, int k);
// As above, with the request's k, or if that is 0, with a value that suits most machines.
plan::Plan throttled_peers_move(const PlanRequest& request, plan::Collective what, const char* name);

// The root moves all pieces itself, out of or into the peers' buffers (CMA IV-A.2).
plan::Plan root_moves(const PlanRequest& request, plan::Collective what, const char* name);

// Leaders move all pieces of their groups, members their own, on every level of the hierarchy (CMA VII-G). Regular
// only, because a leader does not know the lengths of other ranks' pieces.
plan::Plan leaders_move(const PlanRequest& request, plan::Collective what, const char* name);

}  // namespace coll::algo
