// SPDX-License-Identifier: BSD-3-Clause
// Which processes of MPI_COMM_WORLD a communicator consists of.
#pragma once

#include "mpi/handles.h"

#include <vector>

namespace coll::shim {

// The rank in MPI_COMM_WORLD of each of the `ranks` ranks of `comm`, an intra-communicator; MPI_UNDEFINED for a process
// of another MPI_COMM_WORLD. Empty if MPI reports an error. Local. Throws std::bad_alloc.
std::vector<int> world_ranks(MPI_Comm comm, int ranks);

// Notes an intra-communicator that MPI_Intercomm_merge has made: only so do processes of several MPI_COMM_WORLDs get
// into one.
void note_merge(MPI_Comm merged);
// Whether processes of several MPI_COMM_WORLDs are in `comm`, the same on all its ranks. Local, and short unless a
// noted communicator has such processes. Throws std::bad_alloc.
bool has_other_worlds(MPI_Comm comm, int ranks);

}  // namespace coll::shim
