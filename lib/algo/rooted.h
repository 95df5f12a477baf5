// SPDX-License-Identifier: BSD-3-Clause
// Scatter and gather, regular and irregular, from the same generators: a gather is a scatter with every arrow reversed.
// `what` is Collective::scatter or Collective::gather.
#pragma once

#include "algo/registry.h"

namespace coll::algo {

// The peers move their pieces out of or into the root's buffer, `k` of them at a time; 0: all at once. Peers are served
// in the order of their distance from the root: each waits for the one k before it, and the root for the last k
// (CMA IV-A.1, IV-A.3; KNEM V-B).
plan::Plan peers_move(const Request& request, plan::Collective what, const char* name, int k);
// The same with the request's k, or where it leaves that open with one that suits most machines.
plan::Plan throttled_peers_move(const Request& request, plan::Collective what, const char* name);

// The root moves all pieces itself, out of or into the peers' buffers (CMA IV-A.2).
plan::Plan root_moves(const Request& request, plan::Collective what, const char* name);

// Leaders move what their groups get or give, their members what is their own; as deep as the hierarchy (CMA VII-G).
// Regular only: a leader would have to know the lengths of others' pieces.
plan::Plan leaders_move(const Request& request, plan::Collective what, const char* name);

}  // namespace coll::algo
