// SPDX-License-Identifier: BSD-3-Clause
// The ranks of an MPI communicator create a libcoll communicator, or agree that there is none.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <cstddef>
#include <memory>

namespace coll::shim {

// The outcome: the same on all ranks. If any rank fails, every rank gets neither `coll` nor `nodes`.
struct Agreement {
  coll_comm *coll;               // the communicator, if all ranks are on one node; owned by the caller
  std::unique_ptr<Nodes> nodes;  // the hierarchy, if they are on several nodes
  bool lasting;  // false: a rank cannot store the outcome, so no rank may, and all ask again at the next call
  Why why;       // why there is neither
};

// An allgather of bytes over the ranks that agree. Returns false if it fails.
class Exchange {
 public:
  virtual bool allgather(const void *mine, void *all, std::size_t bytes) = 0;

 protected:
  ~Exchange() = default;
};

// Creates a libcoll communicator for the ranks of an exchange, which are on one node. Collective over these ranks.
// Returns NULL on all of them if one fails; the caller owns the communicator.
coll_comm *agree_on_one(Exchange &exchange, int rank, int ranks);

// Agrees for `comm`, an intra-communicator; collective over it. `ready`: this rank can store the outcome. Throws
// std::bad_alloc if there is not even memory to inform the other ranks.
Agreement agree(MPI_Comm comm, int rank, int ranks, bool ready);

}  // namespace coll::shim
