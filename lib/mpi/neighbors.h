// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives and MPI_Alltoallw as libcoll's sparse exchange, blocking and non-blocking. As in
// v-variants, no number is known to all ranks, so every call on a communicator of one node is intercepted.
#pragma once

#include "mpi/call.h"
#include "mpi/edges.h"
#include "mpi/handles.h"
#include "mpi/requests.h"

namespace coll::shim {

// Arguments of the functions below. Count and Displ are int and int, int and MPI_Aint, or MPI_Count and MPI_Aint.
template <typename Count = int, typename Displ = int>
SideArguments<Count, Displ> same_for_all(const void *buffer, MPI_Count count, MPI_Datatype type) {
  SideArguments<Count, Displ> side = {buffer, count, type};
  side.one_block = true;
  return side;
}
template <typename Count = int, typename Displ = int>
SideArguments<Count, Displ> of_one_length(const void *buffer, MPI_Count count, MPI_Datatype type) {
  return {buffer, count, type};
}
template <typename Count, typename Displ>
SideArguments<Count, Displ> of_lengths(const void *buffer, const Count *counts, const Displ *displs,
                                       MPI_Datatype type) {
  SideArguments<Count, Displ> side = {buffer, 0, type, counts, displs};
  side.irregular = true;
  return side;
}
template <typename Count, typename Displ>
SideArguments<Count, Displ> of_types(const void *buffer, const Count *counts, const Displ *displs, Types types) {
  SideArguments<Count, Displ> side = {buffer, 0, {}, counts, displs, types};
  side.irregular = side.of_types = true;
  return side;
}

// Each returns the value of the MPI call, or `not_intercepted`. `collective` is the one that is called.
template <typename Count, typename Displ>
int intercept_neighbors(Collective collective, const SideArguments<Count, Displ> &send,
                        const SideArguments<Count, Displ> &recv, MPI_Comm comm);
template <typename Count, typename Displ>
int start_neighbors(Collective collective, const SideArguments<Count, Displ> &send,
                    const SideArguments<Count, Displ> &recv, MPI_Comm comm, Target target);
template <typename Count, typename Displ>
int intercept_alltoallw(const SideArguments<Count, Displ> &send, const SideArguments<Count, Displ> &recv,
                        MPI_Comm comm);
template <typename Count, typename Displ>
int start_alltoallw(const SideArguments<Count, Displ> &send, const SideArguments<Count, Displ> &recv, MPI_Comm comm,
                    Target target);

}  // namespace coll::shim
