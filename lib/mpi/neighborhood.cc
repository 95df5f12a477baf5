// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/neighborhood.h"

#include "mpi/below.h"

#include <algorithm>
#include <numeric>

namespace coll::shim {
namespace {

bool find_cartesian(MPI_Comm comm, int rank, Neighborhood *of) {
  int dimensions = 0;
  if (found.Cartdim_get(comm, &dimensions) != MPI_SUCCESS) return false;
  const auto count = static_cast<std::size_t>(dimensions);
  std::vector<int> sizes(count + 1), periodic(count + 1), at(count + 1);
  if (dimensions > 0 && found.Cart_get(comm, dimensions, sizes.data(), periodic.data(), at.data()) != MPI_SUCCESS)
    return false;
  for (int d = 0; d < dimensions; d++) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    // Open MPI's MPI_Cart_shift knows no neighbour along one process.
    if (sizes[static_cast<std::size_t>(d)] == 1)
      below = above = periodic[static_cast<std::size_t>(d)] != 0 ? rank : MPI_PROC_NULL;
    else if (found.Cart_shift(comm, d, 1, &below, &above) != MPI_SUCCESS) return false;
    of->sources.push_back(below);
    of->sources.push_back(above);
  }
  of->destinations = of->sources;
  return true;
}

bool find_graph(MPI_Comm comm, int rank, Neighborhood *of) {
  int count = 0;
  if (found.Graph_neighbors_count(comm, rank, &count) != MPI_SUCCESS) return false;
  of->sources.resize(static_cast<std::size_t>(count) + 1);
  if (found.Graph_neighbors(comm, rank, count, of->sources.data()) != MPI_SUCCESS) return false;
  of->sources.pop_back();
  of->destinations = of->sources;
  return true;
}

bool find_distributed(MPI_Comm comm, Neighborhood *of) {
  int in = 0, out = 0, weighted = 0;
  if (found.Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS) return false;
  // One more, so that no array is null.
  of->sources.resize(static_cast<std::size_t>(in) + 1);
  of->destinations.resize(static_cast<std::size_t>(out) + 1);
  std::vector<int> in_weights(of->sources.size()), out_weights(of->destinations.size());
  if (found.Dist_graph_neighbors(comm, in, of->sources.data(), in_weights.data(), out, of->destinations.data(),
                                 out_weights.data()) != MPI_SUCCESS)
    return false;
  of->sources.pop_back();
  of->destinations.pop_back();
  return true;
}

void find_orders(Neighborhood *of) {
  of->in_order.resize(of->sources.size());
  std::iota(of->in_order.begin(), of->in_order.end(), 0);
  of->reordered = of->in_order;
#ifdef OPEN_MPI
  // In a dimension of one or two processes what goes down comes from above: blocking calls have a tag for each direction.
  if (of->cartesian)
    for (std::size_t i = 0; i + 1 < of->reordered.size(); i += 2) std::swap(of->reordered[i], of->reordered[i + 1]);
#else
  // MPICH reverses the receives of two collectives for the sake of such dimensions, but does so in every topology.
  std::reverse(of->reordered.begin(), of->reordered.end());
#endif
}

}  // namespace

// Which edges meet where two ranks share several is the library's choice; tests/mpi/neighbors.c compares.
const std::vector<int> &Neighborhood::order(Collective collective) const {
#ifdef OPEN_MPI
  return cartesian && collective < blocking_collectives ? reordered : in_order;
#else
  return collective == neighbor_alltoall || collective == ineighbor_alltoall ? reordered : in_order;
#endif
}

bool find_neighborhood(MPI_Comm comm, int rank, Neighborhood *of) {
  int topology = MPI_UNDEFINED;
  if (found.Topo_test(comm, &topology) != MPI_SUCCESS) return false;
  const bool has_one = topology == MPI_CART         ? find_cartesian(comm, rank, of)
                       : topology == MPI_GRAPH      ? find_graph(comm, rank, of)
                       : topology == MPI_DIST_GRAPH ? find_distributed(comm, of)
                                                    : false;
  if (!has_one) return false;
  of->cartesian = topology == MPI_CART;
  find_orders(of);
  return true;
}

}  // namespace coll::shim
