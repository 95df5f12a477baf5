// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/neighborhood.h"

#include "mpi/library.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>

namespace coll::shim {
namespace {

bool find_cartesian(MPI_Comm comm, int rank, Neighborhood *of) {
  int dimensions = 0;
  if (mpi.Cartdim_get(comm, &dimensions) != MPI_SUCCESS) return false;
  const auto count = static_cast<std::size_t>(dimensions);
  // One element more here and below, so that no array is NULL.
  std::vector<int> sizes(count + 1), periodic(count + 1), at(count + 1);
  if (dimensions > 0 && mpi.Cart_get(comm, dimensions, sizes.data(), periodic.data(), at.data()) != MPI_SUCCESS)
    return false;
  for (int d = 0; d < dimensions; d++) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    // Open MPI's MPI_Cart_shift returns no neighbour in a dimension of one process, even a periodic one.
    if (sizes[static_cast<std::size_t>(d)] == 1)
      below = above = periodic[static_cast<std::size_t>(d)] != 0 ? rank : MPI_PROC_NULL;
    else if (mpi.Cart_shift(comm, d, 1, &below, &above) != MPI_SUCCESS) return false;
    of->sources.push_back(below);
    of->sources.push_back(above);
  }
  of->destinations = of->sources;
  return true;
}

bool find_graph(MPI_Comm comm, int rank, Neighborhood *of) {
  int count = 0;
  if (mpi.Graph_neighbors_count(comm, rank, &count) != MPI_SUCCESS) return false;
  of->sources.resize(static_cast<std::size_t>(count) + 1);
  if (mpi.Graph_neighbors(comm, rank, count, of->sources.data()) != MPI_SUCCESS) return false;
  of->sources.pop_back();
  of->destinations = of->sources;
  return true;
}

bool find_distributed(MPI_Comm comm, Neighborhood *of) {
  int in = 0, out = 0, weighted = 0;
  if (mpi.Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS) return false;
  of->sources.resize(static_cast<std::size_t>(in) + 1);
  of->destinations.resize(static_cast<std::size_t>(out) + 1);
  std::vector<int> in_weights(of->sources.size()), out_weights(of->destinations.size());
  if (mpi.Dist_graph_neighbors(comm, in, of->sources.data(), in_weights.data(), out, of->destinations.data(),
                               out_weights.data()) != MPI_SUCCESS)
    return false;
  of->sources.pop_back();
  of->destinations.pop_back();
  return true;
}

void find_orders(Neighborhood *of) {
  of->in_order.resize(of->sources.size());
  std::iota(of->in_order.begin(), of->in_order.end(), 0);
  of->reversed = of->swapped = of->in_order;
  std::ranges::reverse(of->reversed);
  // In a periodic dimension of one or two processes, both neighbours are the same rank; what it sends down arrives from
  // above.
  if (of->cartesian)
    for (std::size_t i = 0; i + 1 < of->swapped.size(); i += 2) std::swap(of->swapped[i], of->swapped[i + 1]);
}

// If two ranks share several edges, the library decides which of them correspond. MPI 4.1 requires those of a Cartesian
// topology to be swapped, and those of a graph to be in order; but MPICH up to 5.0.1 reverses all of them in some
// collectives, and non-blocking collectives of Open MPI 4.1 do not swap. So the shim finds out by communicating over
// edges from this process to itself.
enum class EdgeOrder : unsigned char { in_order, swapped, reversed };
constexpr int self_edges = 4;  // two in each of the two dimensions of probe_cartesian()
constexpr int variants = 3;    // MPI_Neighbor_alltoall, -v and -w

// The library's own function, looked up here because only these probes call it, and without profilers.
#define COLL_SHIM_OWN(name) reinterpret_cast<decltype(&::PMPI_##name)>(variable("PMPI_" #name))

template <typename Exchange>
EdgeOrder probe_order(Exchange exchange) {
  const int sent[self_edges] = {0, 1, 2, 3};
  int got[self_edges] = {0, 1, 2, 3};
  if (exchange(sent, got) != MPI_SUCCESS) return EdgeOrder::in_order;  // as MPI requires of graphs
  return got[0] == 1 ? EdgeOrder::swapped : got[0] == self_edges - 1 ? EdgeOrder::reversed : EdgeOrder::in_order;
}

// `started`: those of non-blocking collectives.
struct EdgeOrders {
  EdgeOrder blocking[variants], started[variants];

  explicit EdgeOrders(MPI_Comm comm) {
    const MPI_Datatype type = MPI_INT;
    const int counts[self_edges] = {1, 1, 1, 1}, displs[self_edges] = {0, 1, 2, 3};
    MPI_Aint bytes[self_edges];
    for (int i = 0; i < self_edges; i++) bytes[i] = i * static_cast<MPI_Aint>(sizeof(int));
    const MPI_Datatype types[self_edges] = {type, type, type, type};
    const auto plain = COLL_SHIM_OWN(Neighbor_alltoall);
    const auto v = COLL_SHIM_OWN(Neighbor_alltoallv);
    const auto w = COLL_SHIM_OWN(Neighbor_alltoallw);
    blocking[0] = probe_order([&](auto *from, auto *to) { return plain(from, 1, type, to, 1, type, comm); });
    blocking[1] = probe_order(
        [&](auto *from, auto *to) { return v(from, counts, displs, type, to, counts, displs, type, comm); });
    blocking[2] = probe_order(
        [&](auto *from, auto *to) { return w(from, counts, bytes, types, to, counts, bytes, types, comm); });
    const auto start_plain = COLL_SHIM_OWN(Ineighbor_alltoall);
    const auto start_v = COLL_SHIM_OWN(Ineighbor_alltoallv);
    const auto start_w = COLL_SHIM_OWN(Ineighbor_alltoallw);
    MPI_Request request;
    const auto ended = [&](int code) { return code == MPI_SUCCESS ? mpi.Wait(&request, MPI_STATUS_IGNORE) : code; };
    started[0] = probe_order(
        [&](auto *from, auto *to) { return ended(start_plain(from, 1, type, to, 1, type, comm, &request)); });
    started[1] = probe_order([&](auto *from, auto *to) {
      return ended(start_v(from, counts, displs, type, to, counts, displs, type, comm, &request));
    });
    started[2] = probe_order([&](auto *from, auto *to) {
      return ended(start_w(from, counts, bytes, types, to, counts, bytes, types, comm, &request));
    });
  }
  EdgeOrders() : blocking{}, started{} {}  // in order
};

EdgeOrders probe_cartesian() {
  const int sizes[] = {1, 1}, periodic[] = {1, 1};
  MPI_Comm comm;
  if (COLL_SHIM_OWN(Cart_create)(private_communicator(), 2, sizes, periodic, 0, &comm) != MPI_SUCCESS) return {};
  const EdgeOrders orders(comm);
  mpi.Comm_free(&comm);
  return orders;
}

EdgeOrders probe_graph() {
  const int self[self_edges] = {}, weights[self_edges] = {1, 1, 1, 1};
  MPI_Comm comm;
  if (COLL_SHIM_OWN(Dist_graph_create_adjacent)(private_communicator(), self_edges, self, weights, self_edges, self,
                                                weights, mpi.info_null, 0, &comm) != MPI_SUCCESS)
    return {};
  const EdgeOrders orders(comm);
  mpi.Comm_free(&comm);
  return orders;
}
#undef COLL_SHIM_OWN

// Both kinds of topology use one communicator for their probe, so that only one may probe at a time.
const EdgeOrders &edge_orders_of(bool cartesian) {
  static std::mutex probing;
  static std::optional<EdgeOrders> known[2];
  const std::lock_guard lock(probing);
  std::optional<EdgeOrders> &orders = known[cartesian ? 1 : 0];
  if (!orders) orders = cartesian ? probe_cartesian() : probe_graph();
  return *orders;
}

}  // namespace

// In both libraries persistent collectives use the order of non-blocking ones. An allgather sends the same data over all
// edges, so their order does not matter. The three forms of a collective are blocking_collectives apart.
const std::vector<int> &Neighborhood::order(Collective collective) const {
  const int variant = collective % blocking_collectives - neighbor_alltoall;
  if (variant < 0 || variant >= variants) return in_order;
  const EdgeOrders &orders = edge_orders_of(cartesian);
  switch ((collective < blocking_collectives ? orders.blocking : orders.started)[variant]) {
    case EdgeOrder::swapped: return swapped;
    case EdgeOrder::reversed: return reversed;
    default: return in_order;
  }
}

bool find_neighborhood(MPI_Comm comm, int rank, Neighborhood *of) {
  int topology = MPI_UNDEFINED;
  if (mpi.Topo_test(comm, &topology) != MPI_SUCCESS) return false;
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
