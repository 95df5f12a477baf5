// SPDX-License-Identifier: BSD-3-Clause
// Memory that peers can map, for programs: MPI_Alloc_mem, and the shared heap.
#pragma once

#include "mpi/handles.h"

namespace coll::shim {

// Return MPI_SUCCESS, or not_intercepted, so that the caller forwards: requests with hints, and memory that
// intercept_alloc_mem() did not return. Neither call is collective, so a rank may intercept one that another forwards.
// Thread safe.
int intercept_alloc_mem(MPI_Aint bytes, bool has_hints, void *base);
int intercept_free_mem(void *base);

// Logs how many allocations the shared heap has served and how much shared memory it has; nothing if it is off.
void log_heap(int rank);

}  // namespace coll::shim
