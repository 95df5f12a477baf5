// SPDX-License-Identifier: BSD-3-Clause
// Memory that peers can map, for the program: MPI_Alloc_mem, and the shared heap.
#pragma once

#include "mpi/handles.h"

namespace coll::shim {

// MPI_SUCCESS, or passed_on: a call that a rank takes and another passes on is no fault here, as neither is collective.
int take_alloc_mem(MPI_Aint bytes, bool has_hints, void *base);
// Passed on what take_alloc_mem() did not give.
int take_free_mem(void *base);

// What the heap has given, as a line of the log; nothing when it is off.
void tell_heap(int rank);

}  // namespace coll::shim
