// SPDX-License-Identifier: BSD-3-Clause
// The ranks of an MPI communicator make a libcoll communicator, or agree that there is none.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <cstddef>
#include <memory>

namespace coll::shim {

// At all ranks the same or, whatever went wrong at which of them, nothing.
struct Agreement {
  coll_comm *coll;               // when all are on one node
  std::unique_ptr<Nodes> nodes;  // when they are on several
  bool lasting;                  // false: a rank cannot remember the outcome, so none may, and all ask again next time
  Why why;                       // there is neither
};

// An allgather of bytes over the ranks that agree. False when it fails.
class Exchange {
 public:
  virtual bool allgather(const void *mine, void *all, std::size_t bytes) = 0;

 protected:
  ~Exchange() = default;
};

// A communicator of libcoll for the ranks of an exchange, which share a node; NULL at all of them when one fails.
coll_comm *agree_on_one(Exchange &exchange, int rank, int ranks);

// Collective over `comm`, an intra-communicator. `ready`: this rank can remember the outcome. Throws
// std::bad_alloc when there is not even memory to tell the others.
Agreement agree(MPI_Comm comm, int rank, int ranks, bool ready);

}  // namespace coll::shim
