// SPDX-License-Identifier: BSD-3-Clause
//
// The C entry points of persistent requests: those that create one, also with large counts, those that start it, and
// those that end it.
#include "mpi/errors.h"
#include "mpi/library.h"
#include "mpi/neighbors.h"
#include "mpi/persistent.h"
#include "mpi/start.h"
#include "mpi/waits.h"

using namespace coll::shim;

namespace {

int start_one(MPI_Request *request) {
  Persistent *own = request != nullptr ? find_persistent(*request) : nullptr;
  return own != nullptr ? own->start() : mpi_library().next.Start(request);
}

// Starts the requests one by one, in the order of the array, if libcoll serves one of them.
int start_all(int count, MPI_Request *requests) {
  bool has_own = false;
  for (int i = 0; i < count && requests != nullptr && !has_own; i++) has_own = find_persistent(requests[i]) != nullptr;
  if (!has_own) return mpi_library().next.Startall(count, requests);
  for (int i = 0; i < count; i++)
    if (const int code = start_one(&requests[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

int MPI_Start(MPI_Request *request) {
  return wait(
      "MPI_Start", [&] { return handles_in(1, request); }, start_one, request);
}

int MPI_Startall(int count, MPI_Request *requests) {
  return wait(
      "MPI_Startall", [&] { return handles_in(count, requests); }, start_all, count, requests);
}

int MPI_Request_free(MPI_Request *request) {
  if (request == nullptr) return mpi_library().next.Request_free(request);
  const MPI_Request handle = *request;
  Persistent *own = find_persistent(handle);
  const int result = mpi_library().next.Request_free(request);
  if (result == MPI_SUCCESS) own != nullptr ? own->free() : note_freed(handle);
  return result;
}

// MPI forbids cancelling a collective; the receive behind the handle must not be cancelled.
int MPI_Cancel(MPI_Request *request) {
  if (request == nullptr || find_persistent(*request) == nullptr) return mpi_library().next.Cancel(request);
  return finish(mpi.world, {COLL_OK, MPI_ERR_REQUEST}, "MPI_Cancel");
}

#define UNPACK(...) __VA_ARGS__
// Defines an entry point: its name, the call that starts it and, in parentheses, the parameters and arguments before
// MPI_Info.
#define ENTRY(symbol, next_name, starts, parameters, arguments)                                                        \
  int symbol(UNPACK parameters, MPI_Info info, MPI_Request *request) {                                                 \
    const Target target = Target::persistent(request);                                                                 \
    const int result = starts;                                                                                         \
    if (result != not_intercepted) return result;                                                                      \
    return forward_start<note_started>([&] { return *request; }, mpi_library().next.next_name, UNPACK arguments, info, \
                                       request);                                                                       \
  }

// All entries, with counts and displacements of int, or of MPI_Count and MPI_Aint.
// clang-format off
#define ENTRIES(E, Count, Displ) \
  E(Bcast, start_bcast(buffer, count, type, root, comm, target), (void *buffer, Count count, MPI_Datatype type, \
    int root, MPI_Comm comm), (buffer, count, type, root, comm)) \
  E(Reduce, start_reduce(send, recv, count, type, op, root, comm, target), (const void *send, void *recv, Count \
    count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm), (send, recv, count, type, op, root, comm)) \
  E(Allreduce, start_allreduce(send, recv, count, type, op, comm, target), (const void *send, void *recv, Count \
    count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (send, recv, count, type, op, comm)) \
  E(Reduce_scatter_block, start_reduce_scatter_block(send, recv, count, type, op, comm, target), (const void \
    *send, void *recv, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (send, recv, count, type, op, \
    comm)) \
  E(Scan, start_scan(send, recv, count, type, op, comm, target), (const void *send, void *recv, Count count, \
    MPI_Datatype type, MPI_Op op, MPI_Comm comm), (send, recv, count, type, op, comm)) \
  E(Exscan, start_exscan(send, recv, count, type, op, comm, target), (const void *send, void *recv, Count count, \
    MPI_Datatype type, MPI_Op op, MPI_Comm comm), (send, recv, count, type, op, comm)) \
  E(Reduce_scatter, start_reduce_scatter(send, recv, counts, type, op, comm, target), (const void *send, void \
    *recv, const Count *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (send, recv, counts, type, op, \
    comm)) \
  E(Gather, start_gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm, target), (const \
    void *send, Count send_count, MPI_Datatype send_type, void *recv, Count recv_count, MPI_Datatype recv_type, \
    int root, MPI_Comm comm), (send, send_count, send_type, recv, recv_count, recv_type, root, comm)) \
  E(Scatter, start_scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm, target), (const \
    void *send, Count send_count, MPI_Datatype send_type, void *recv, Count recv_count, MPI_Datatype recv_type, \
    int root, MPI_Comm comm), (send, send_count, send_type, recv, recv_count, recv_type, root, comm)) \
  E(Allgather, start_allgather(send, send_count, send_type, recv, recv_count, recv_type, comm, target), (const \
    void *send, Count send_count, MPI_Datatype send_type, void *recv, Count recv_count, MPI_Datatype recv_type, \
    MPI_Comm comm), (send, send_count, send_type, recv, recv_count, recv_type, comm)) \
  E(Alltoall, start_alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, target), (const \
    void *send, Count send_count, MPI_Datatype send_type, void *recv, Count recv_count, MPI_Datatype recv_type, \
    MPI_Comm comm), (send, send_count, send_type, recv, recv_count, recv_type, comm)) \
  E(Gatherv, start_gatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm, \
    target), (const void *send, Count send_count, MPI_Datatype send_type, void *recv, const Count *recv_counts, \
    const Displ *displs, MPI_Datatype recv_type, int root, MPI_Comm comm), (send, send_count, send_type, recv, \
    recv_counts, displs, recv_type, root, comm)) \
  E(Allgatherv, start_allgatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm, \
    target), (const void *send, Count send_count, MPI_Datatype send_type, void *recv, const Count *recv_counts, \
    const Displ *displs, MPI_Datatype recv_type, MPI_Comm comm), (send, send_count, send_type, recv, \
    recv_counts, displs, recv_type, comm)) \
  E(Scatterv, start_scatterv(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm, \
    target), (const void *send, const Count *send_counts, const Displ *displs, MPI_Datatype send_type, void \
    *recv, Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm), (send, send_counts, displs, \
    send_type, recv, recv_count, recv_type, root, comm)) \
  E(Alltoallv, start_alltoallv(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, \
    recv_type, comm, target), (const void *send, const Count *send_counts, const Displ *send_displs, \
    MPI_Datatype send_type, void *recv, const Count *recv_counts, const Displ *recv_displs, MPI_Datatype \
    recv_type, MPI_Comm comm), (send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, \
    recv_type, comm)) \
  E(Alltoallw, start_alltoallw(of_types(send, send_counts, send_displs, Types(send_types)), of_types(recv, \
    recv_counts, recv_displs, Types(recv_types)), comm, target), (const void *send, const Count *send_counts, \
    const Displ *send_displs, const MPI_Datatype *send_types, void *recv, const Count *recv_counts, const Displ \
    *recv_displs, const MPI_Datatype *recv_types, MPI_Comm comm), (send, send_counts, send_displs, send_types, \
    recv, recv_counts, recv_displs, recv_types, comm)) \
  E(Neighbor_allgather, start_neighbors(ineighbor_allgather, same_for_all<Count, Displ>(send, send_count, \
    send_type), of_one_length<Count, Displ>(recv, recv_count, recv_type), comm, target), (const void *send, \
    Count send_count, MPI_Datatype send_type, void *recv, Count recv_count, MPI_Datatype recv_type, MPI_Comm \
    comm), (send, send_count, send_type, recv, recv_count, recv_type, comm)) \
  E(Neighbor_allgatherv, start_neighbors(ineighbor_allgatherv, same_for_all<Count, Displ>(send, send_count, \
    send_type), of_lengths(recv, recv_counts, displs, recv_type), comm, target), (const void *send, Count \
    send_count, MPI_Datatype send_type, void *recv, const Count *recv_counts, const Displ *displs, MPI_Datatype \
    recv_type, MPI_Comm comm), (send, send_count, send_type, recv, recv_counts, displs, recv_type, comm)) \
  E(Neighbor_alltoall, start_neighbors(ineighbor_alltoall, of_one_length<Count, Displ>(send, send_count, \
    send_type), of_one_length<Count, Displ>(recv, recv_count, recv_type), comm, target), (const void *send, \
    Count send_count, MPI_Datatype send_type, void *recv, Count recv_count, MPI_Datatype recv_type, MPI_Comm \
    comm), (send, send_count, send_type, recv, recv_count, recv_type, comm)) \
  E(Neighbor_alltoallv, start_neighbors(ineighbor_alltoallv, of_lengths(send, send_counts, send_displs, \
    send_type), of_lengths(recv, recv_counts, recv_displs, recv_type), comm, target), (const void *send, const \
    Count *send_counts, const Displ *send_displs, MPI_Datatype send_type, void *recv, const Count *recv_counts, \
    const Displ *recv_displs, MPI_Datatype recv_type, MPI_Comm comm), (send, send_counts, send_displs, \
    send_type, recv, recv_counts, recv_displs, recv_type, comm)) \
  E(Neighbor_alltoallw, start_neighbors(ineighbor_alltoallw, of_types(send, send_counts, send_displs, \
    Types(send_types)), of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm, target), (const void \
    *send, const Count *send_counts, const MPI_Aint *send_displs, const MPI_Datatype *send_types, void *recv, \
    const Count *recv_counts, const MPI_Aint *recv_displs, const MPI_Datatype *recv_types, MPI_Comm comm), \
    (send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs, recv_types, comm))
// clang-format on

#ifdef COLL_SHIM_INIT
#define PLAIN_ENTRY(name, ...) ENTRY(COLL_SHIM_INIT(name), name##_init, __VA_ARGS__)
PLAIN_ENTRY(Barrier, start_barrier(comm, target), (MPI_Comm comm), (comm))
ENTRIES(PLAIN_ENTRY, int, int)
#endif

#if defined(COLL_SHIM_INIT) && defined(COLL_SHIM_LARGE_COUNTS)
#define LARGE_ENTRY(name, ...) ENTRY(MPI_##name##_init_c, name##_init_c, __VA_ARGS__)
ENTRIES(LARGE_ENTRY, MPI_Count, MPI_Aint)
#endif

#pragma GCC visibility pop

}  // extern "C"
