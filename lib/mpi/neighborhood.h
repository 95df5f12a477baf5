// SPDX-License-Identifier: BSD-3-Clause
// A communicator's neighbours by its topology: Cartesian, graph or distributed graph.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"

#include <vector>

namespace coll::shim {

// In MPI's order, MPI_PROC_NULL among them: block i of a neighbourhood collective is for destinations[i], or from sources[i].
struct Neighborhood {
  bool cartesian = false;
  std::vector<int> sources, destinations;
  // The sources in the order in which they take what one rank sends over several edges: of those from rank a to rank b, the
  // k-th of a's destinations meets the k-th of b's sources in this order.
  const std::vector<int> &order(Collective collective) const;

  std::vector<int> in_order, swapped, reversed;  // what order() returns, by the collective
};

// False: the communicator has no topology. Local. Throws std::bad_alloc.
bool find_neighborhood(MPI_Comm comm, int rank, Neighborhood *found);

}  // namespace coll::shim
