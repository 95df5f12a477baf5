// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/twin.h"

#include "mpi/below.h"

namespace coll::shim {

// Not by MPI_Comm_dup, which would copy the program's attributes. And not by MPI_Comm_split: like all that makes
// communicators but MPI_Comm_create_group, in Open MPI it uses up three of the tags that non-blocking collectives on `comm`
// count through. MPI_Dist_graph_create of Open MPI 4.1 uses two of the same tags for messages from anybody, and hangs when
// the count reaches them in one of its own calls. A program that escapes this by luck is to escape it with the shim.
bool make_twin(MPI_Comm comm, MPI_Comm *twin) {
  MPI_Group group;
  if (found.Comm_group(comm, &group) != MPI_SUCCESS) return false;
  const bool made = found.Comm_create_group(comm, group, 0, twin) == MPI_SUCCESS;
  found.Group_free(&group);
  return made;
}

}  // namespace coll::shim
