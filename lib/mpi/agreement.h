// SPDX-License-Identifier: BSD-3-Clause
// The ranks of an MPI communicator make a libcoll communicator, or agree that there is none.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"

#include <coll/coll.h>

namespace coll::shim {

struct Agreement {
  coll_comm *coll;  // at all ranks or, whatever went wrong at which of them, at none
  bool lasting;     // false: a rank cannot remember the outcome, so none may, and all ask again next time
  Why why;          // there is none
};

// Collective over `comm`, an intra-communicator. `ready`: this rank can remember the outcome. Throws
// std::bad_alloc when there is not even memory to tell the others.
Agreement agree(MPI_Comm comm, int rank, int ranks, bool ready);

}  // namespace coll::shim
