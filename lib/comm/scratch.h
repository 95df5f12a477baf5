// SPDX-License-Identifier: BSD-3-Clause
// Memory for collectives whose plans do not work on the caller's buffers: those in place that need input and result apart,
// and reductions of 16-bit floats whose plan stores partial results, which it does in float. Peers can map it where the arena
// has room.
#pragma once

#include <cstddef>

#include "comm/comm.h"

namespace coll::comm {

// `element_bytes`: of the plan as it is bound; more than the call's where it works on floats.
bool needs_scratch(const Call& call, size_t element_bytes);
// To be called before: what the plan works on. An alltoall's input is copied away; a reduce-scatter's is not, because peers
// may read it until the plan ends.
exec::Arguments apart(const Call& call, size_t element_bytes, int rank, int ranks, Scratch& scratch);
// To be called after the plan has ended.
void put_back(const Call& call, size_t element_bytes, int rank, int ranks, const Scratch& scratch);

}  // namespace coll::comm
