// SPDX-License-Identifier: BSD-3-Clause
//
// The Fortran entry points of persistent requests.
#include "mpi/fortran.h"
#include "mpi/fortran_started.h"

#include "mpi/errors.h"
#include "mpi/neighbors.h"
#include "mpi/persistent.h"
#include "mpi/start.h"

using namespace coll::shim;

namespace {

#ifdef OPEN_MPI
const int *ints(const Int *numbers) { return numbers; }
const MPI_Aint *places(const MPI_Aint *numbers) { return numbers; }
#endif

template <typename Next>
void start_one(Next next, Int *request, Int *ierror) {
  Persistent *own = find_persistent(request_of(*request));
  if (own == nullptr) return next(request, ierror);
  const int result = own->start();
  if (ierror != nullptr) *ierror = result;
}

// Starts the requests one by one, in the order of the array, if libcoll serves one of them. `next` takes an array.
template <typename Next>
void start_all(Next next, Int *count, Int *requests, Int *ierror) {
  bool has_own = false;
  for (Int i = 0; i < *count && !has_own; i++) has_own = find_persistent(request_of(requests[i])) != nullptr;
  if (!has_own) return next(count, requests, ierror);
  Int result = MPI_SUCCESS, one = 1;
  for (Int i = 0; i < *count && result == MPI_SUCCESS; i++)
    start_one([&](Int *request, Int *error) { next(&one, request, error); }, &requests[i], &result);
  if (ierror != nullptr) *ierror = result;
}

template <typename Next>
void free_one(Next next, Int *request, Int *ierror) {
  const MPI_Request handle = request_of(*request);
  Persistent *own = find_persistent(handle);
  Int result = MPI_SUCCESS;
  next(request, &result);
  if (result == MPI_SUCCESS) own != nullptr ? own->free() : note_freed(handle);
  if (ierror != nullptr) *ierror = result;
}

template <typename Next>
void cancel_one(Next next, Int *request, Int *ierror) {
  if (find_persistent(request_of(*request)) == nullptr) return next(request, ierror);
  const int result = finish(mpi.world, {COLL_OK, MPI_ERR_REQUEST}, "MPI_Cancel");
  if (ierror != nullptr) *ierror = result;
}

}  // namespace

COLL_FORTRAN_WITHOUT_BUFFER(start, START, (Int * request, Int *ierror),
                            wait(
                                "MPI_Start", [&] { return handles_of(1, request); },
                                [](Int *one, Int *error) { start_one(next, one, error); }, request, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(startall, STARTALL, (Int * count, Int *requests, Int *ierror),
                            wait(
                                "MPI_Startall", [&] { return handles_of(*count, requests); },
                                [](Int *of, Int *all, Int *error) { start_all(next, of, all, error); }, count, requests,
                                ierror))

COLL_FORTRAN_WITHOUT_BUFFER(request_free, REQUEST_FREE, (Int * request, Int *ierror), free_one(next, request, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(cancel, CANCEL, (Int * request, Int *ierror), cancel_one(next, request, ierror))

#define UNPACK(...) __VA_ARGS__
// The entries of shim_persistent.cc, in the same order.
#define ENTRY_OF(define, name, NAME, starts, parameters, arguments)                \
  define(name, NAME, (UNPACK parameters, Int * info, Int * request, Int * ierror), \
         finish_or_forward_start<note_started>(                                    \
             [&](MPI_Request *handle) {                                            \
               const Target target = Target::persistent(handle);                   \
               return starts;                                                      \
             },                                                                    \
             request, next, ierror, UNPACK arguments, info, request))

#ifdef OPEN_MPI
#if OMPI_MAJOR_VERSION < 5
#define ENTRY(name, NAME, ...) ENTRY_OF(COLL_FORTRAN_NAMED, mpix_##name##_init, MPIX_##NAME##_INIT, __VA_ARGS__)
#else
#define ENTRY(name, NAME, ...) ENTRY_OF(COLL_FORTRAN_NAMED, mpi_##name##_init, MPI_##NAME##_INIT, __VA_ARGS__)
#endif
#else
#define ENTRY(name, NAME, ...) ENTRY_OF(COLL_FORTRAN_WITHOUT_BUFFER, name##_init, NAME##_INIT, __VA_ARGS__)
#endif

#ifdef COLL_SHIM_INIT
ENTRY(barrier, BARRIER, start_barrier(comm_of(comm), target), (Int * comm), (comm))

#ifdef OPEN_MPI  // MPICH's functions with buffers call those of C
ENTRY(bcast, BCAST, start_bcast(address(buffer), *count, type_of(type), *root, comm_of(comm), target),
      (void *buffer, Int *count, Int *type, Int *root, Int *comm), (buffer, count, type, root, comm))

ENTRY(reduce, REDUCE,
      start_reduce(address(send), address(recv), *count, type_of(type), op_of(op), *root, comm_of(comm), target),
      (void *send, void *recv, Int *count, Int *type, Int *op, Int *root, Int *comm),
      (send, recv, count, type, op, root, comm))

ENTRY(allreduce, ALLREDUCE,
      start_allreduce(address(send), address(recv), *count, type_of(type), op_of(op), comm_of(comm), target),
      (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm), (send, recv, count, type, op, comm))

ENTRY(reduce_scatter_block, REDUCE_SCATTER_BLOCK,
      start_reduce_scatter_block(address(send), address(recv), *count, type_of(type), op_of(op), comm_of(comm), target),
      (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm), (send, recv, count, type, op, comm))

ENTRY(scan, SCAN, start_scan(address(send), address(recv), *count, type_of(type), op_of(op), comm_of(comm), target),
      (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm), (send, recv, count, type, op, comm))

ENTRY(exscan, EXSCAN,
      start_exscan(address(send), address(recv), *count, type_of(type), op_of(op), comm_of(comm), target),
      (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm), (send, recv, count, type, op, comm))

ENTRY(reduce_scatter, REDUCE_SCATTER,
      start_reduce_scatter(address(send), address(recv), counts, type_of(type), op_of(op), comm_of(comm), target),
      (void *send, void *recv, Int *counts, Int *type, Int *op, Int *comm), (send, recv, counts, type, op, comm))

ENTRY(gather, GATHER,
      start_gather(address(send), *send_count, type_of(send_type), address(recv), *recv_count, type_of(recv_type),
                   *root, comm_of(comm), target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *root, Int *comm),
      (send, send_count, send_type, recv, recv_count, recv_type, root, comm))

ENTRY(scatter, SCATTER,
      start_scatter(address(send), *send_count, type_of(send_type), address(recv), *recv_count, type_of(recv_type),
                    *root, comm_of(comm), target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *root, Int *comm),
      (send, send_count, send_type, recv, recv_count, recv_type, root, comm))

ENTRY(allgather, ALLGATHER,
      start_allgather(address(send), *send_count, type_of(send_type), address(recv), *recv_count, type_of(recv_type),
                      comm_of(comm), target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *comm),
      (send, send_count, send_type, recv, recv_count, recv_type, comm))

ENTRY(alltoall, ALLTOALL,
      start_alltoall(address(send), *send_count, type_of(send_type), address(recv), *recv_count, type_of(recv_type),
                     comm_of(comm), target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *comm),
      (send, send_count, send_type, recv, recv_count, recv_type, comm))

ENTRY(gatherv, GATHERV,
      start_gatherv(address(send), *send_count, type_of(send_type), address(recv), recv_counts, displs,
                    type_of(recv_type), *root, comm_of(comm), target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs, Int *recv_type,
       Int *root, Int *comm),
      (send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm))

ENTRY(allgatherv, ALLGATHERV,
      start_allgatherv(address(send), *send_count, type_of(send_type), address(recv), recv_counts, displs,
                       type_of(recv_type), comm_of(comm), target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs, Int *recv_type,
       Int *comm),
      (send, send_count, send_type, recv, recv_counts, displs, recv_type, comm))

ENTRY(scatterv, SCATTERV,
      start_scatterv(address(send), send_counts, displs, type_of(send_type), address(recv), *recv_count,
                     type_of(recv_type), *root, comm_of(comm), target),
      (void *send, Int *send_counts, Int *displs, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
       Int *root, Int *comm),
      (send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm))

ENTRY(alltoallv, ALLTOALLV,
      start_alltoallv(address(send), send_counts, send_displs, type_of(send_type), address(recv), recv_counts,
                      recv_displs, type_of(recv_type), comm_of(comm), target),
      (void *send, Int *send_counts, Int *send_displs, Int *send_type, void *recv, Int *recv_counts, Int *recv_displs,
       Int *recv_type, Int *comm),
      (send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm))

ENTRY(alltoallw, ALLTOALLW,
      start_alltoallw(of_types(address(send), ints(send_counts), ints(send_displs), Types::of_fortran(send_types)),
                      of_types(address(recv), ints(recv_counts), ints(recv_displs), Types::of_fortran(recv_types)),
                      comm_of(comm), target),
      (void *send, Int *send_counts, Int *send_displs, Int *send_types, void *recv, Int *recv_counts, Int *recv_displs,
       Int *recv_types, Int *comm),
      (send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs, recv_types, comm))

ENTRY(neighbor_allgather, NEIGHBOR_ALLGATHER,
      start_neighbors(ineighbor_allgather, same_for_all(address(send), *send_count, type_of(send_type)),
                      of_one_length(address(recv), *recv_count, type_of(recv_type)), comm_of(comm), target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *comm),
      (send, send_count, send_type, recv, recv_count, recv_type, comm))

ENTRY(neighbor_allgatherv, NEIGHBOR_ALLGATHERV,
      start_neighbors(ineighbor_allgatherv, same_for_all(address(send), *send_count, type_of(send_type)),
                      of_lengths(address(recv), ints(recv_counts), ints(displs), type_of(recv_type)), comm_of(comm),
                      target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs, Int *recv_type,
       Int *comm),
      (send, send_count, send_type, recv, recv_counts, displs, recv_type, comm))

ENTRY(neighbor_alltoall, NEIGHBOR_ALLTOALL,
      start_neighbors(ineighbor_alltoall, of_one_length(address(send), *send_count, type_of(send_type)),
                      of_one_length(address(recv), *recv_count, type_of(recv_type)), comm_of(comm), target),
      (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *comm),
      (send, send_count, send_type, recv, recv_count, recv_type, comm))

ENTRY(neighbor_alltoallv, NEIGHBOR_ALLTOALLV,
      start_neighbors(ineighbor_alltoallv,
                      of_lengths(address(send), ints(send_counts), ints(send_displs), type_of(send_type)),
                      of_lengths(address(recv), ints(recv_counts), ints(recv_displs), type_of(recv_type)),
                      comm_of(comm), target),
      (void *send, Int *send_counts, Int *send_displs, Int *send_type, void *recv, Int *recv_counts, Int *recv_displs,
       Int *recv_type, Int *comm),
      (send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm))

ENTRY(neighbor_alltoallw, NEIGHBOR_ALLTOALLW,
      start_neighbors(ineighbor_alltoallw,
                      of_types(address(send), ints(send_counts), places(send_displs), Types::of_fortran(send_types)),
                      of_types(address(recv), ints(recv_counts), places(recv_displs), Types::of_fortran(recv_types)),
                      comm_of(comm), target),
      (void *send, Int *send_counts, MPI_Aint *send_displs, Int *send_types, void *recv, Int *recv_counts,
       MPI_Aint *recv_displs, Int *recv_types, Int *comm),
      (send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs, recv_types, comm))

#endif
#endif
