// SPDX-License-Identifier: BSD-3-Clause
// The ranks of an MPI communicator make a libcoll communicator, or agree that there is none.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <memory>

namespace coll::shim {

// At all ranks the same or, whatever went wrong at which of them, nothing.
struct Agreement {
  coll_comm *coll;               // when all are on one node
  std::unique_ptr<Nodes> nodes;  // when they are on several
  bool lasting;                  // false: a rank cannot remember the outcome, so none may, and all ask again next time
  Why why;                       // there is neither
};

// Collective over `comm`, an intra-communicator. `ready`: this rank can remember the outcome. Throws
// std::bad_alloc when there is not even memory to tell the others.
Agreement agree(MPI_Comm comm, int rank, int ranks, bool ready);

}  // namespace coll::shim
