// SPDX-License-Identifier: BSD-3-Clause
// Memory for collectives whose plans do not work on the caller's buffers: in-place calls whose plans need separate
// input and result, reductions of 16-bit floats whose plans store partial results, as float, and scaled sums. If the
// arena has room the memory is from there, so that peers can map it.
#pragma once

#include <cstddef>

#include "comm/comm.h"

namespace coll::comm {

// `element_bytes`: of the bound plan; larger than the call's if the plan works on floats.
bool needs_scratch(const Call& call, size_t element_bytes);
// REQUIRES: needs_scratch(). Call it before the plan begins: returns the arguments for the plan. It copies the input of
// an in-place alltoall to the scratch memory. Of an in-place reduce-scatter only the result goes there, because peers
// may read the input until the plan ends. Throws std::bad_alloc.
exec::Arguments separate_buffers(const Call& call, size_t element_bytes, int rank, int ranks, Scratch& scratch);
// Call it after the plan has ended: copies the result from the scratch memory to the caller's buffer.
void put_back(const Call& call, size_t element_bytes, int rank, int ranks, const Scratch& scratch);

// Multiplies the input of a scaled sum by its factor, into the scratch memory, and returns that: the call's send buffer.
// So neither buffer of the caller is written before the collective begins. Throws std::bad_alloc.
const void* scaled_input(const Call& call, int ranks, Scratch& scratch);

}  // namespace coll::comm
