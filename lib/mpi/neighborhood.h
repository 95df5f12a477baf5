// SPDX-License-Identifier: BSD-3-Clause
// The neighbours in a communicator's topology: Cartesian, graph or distributed graph.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"

#include <vector>

namespace coll::shim {

// In MPI's order, including MPI_PROC_NULL: block i of a neighbourhood collective is sent to destinations[i], or
// received from sources[i].
struct Neighborhood {
  bool cartesian = false;
  std::vector<int> sources, destinations;
  // Indices of the sources in the order in which they receive blocks if two ranks share several edges: of the edges
  // from rank a to rank b, the k-th one in a's destinations corresponds to the k-th one in b's sources in this order.
  const std::vector<int> &order(Collective collective) const;

  std::vector<int> in_order, swapped, reversed;  // one of them is the result of order()
};

// Fills `of`, which must be new. Returns false if the communicator has no topology or an MPI function fails; then `of` has
// no meaning. Local. Throws std::bad_alloc.
bool find_neighborhood(MPI_Comm comm, int rank, Neighborhood *of);

}  // namespace coll::shim
