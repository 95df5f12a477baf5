// SPDX-License-Identifier: BSD-3-Clause
// Memory for collectives in place whose plans need input and result apart. Peers can map it where the arena has room.
#pragma once

#include <cstddef>

#include "comm/comm.h"

namespace coll::comm {

// alltoall: the input is copied away before; reduce-scatter: the result is put in its place after, because peers may read
// the input until the plan ends.
bool needs_scratch(const Call& call);
// To be called before: what the plan works on.
exec::Arguments apart(const Call& call, int rank, int ranks, Scratch& scratch);
// To be called after the plan has ended.
void put_back(const Call& call, int rank, const Scratch& scratch);

}  // namespace coll::comm
