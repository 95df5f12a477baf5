// SPDX-License-Identifier: BSD-3-Clause
// Communicators of the shim's own with the ranks of one of the program's, from which it makes all others it needs.
#pragma once

#include "mpi/handles.h"

namespace coll::shim {

// Collective over `comm`. False when MPI refuses.
bool make_twin(MPI_Comm comm, MPI_Comm *twin);

}  // namespace coll::shim
