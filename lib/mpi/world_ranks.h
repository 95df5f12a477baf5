// SPDX-License-Identifier: BSD-3-Clause
// Which processes of MPI_COMM_WORLD a communicator consists of.
#pragma once

#include "mpi/handles.h"

#include <vector>

namespace coll::shim {

// The rank in MPI_COMM_WORLD of each of the `ranks` ranks of `comm`, an intra-communicator; MPI_UNDEFINED for a process
// of another MPI_COMM_WORLD. Empty if MPI reports an error. Local. Throws std::bad_alloc.
std::vector<int> world_ranks(MPI_Comm comm, int ranks);

// Whether processes of several MPI_COMM_WORLDs are in `comm`, joined by spawn, accept or merge: then this is true on all
// its ranks. Local. Throws std::bad_alloc.
bool has_other_worlds(MPI_Comm comm, int ranks);

}  // namespace coll::shim
