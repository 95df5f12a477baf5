// SPDX-License-Identifier: BSD-3-Clause
//
// The Fortran entry points of MPI_ALLTOALLW and the neighbourhood collectives.
#include "mpi/handles.h"

#ifdef OPEN_MPI  // MPICH's Fortran functions call those of C
#include "mpi/fortran.h"
#include "mpi/fortran_started.h"

#include "mpi/neighbors.h"

using namespace coll::shim;

namespace {

const int *ints(const Int *numbers) { return numbers; }
const MPI_Aint *places(const MPI_Aint *numbers) { return numbers; }

}  // namespace

COLL_FORTRAN_WITH_BUFFER(
    alltoallw, ALLTOALLW,
    (void *send, Int *send_counts, Int *send_displs, Int *send_types, void *recv, Int *recv_counts, Int *recv_displs,
     Int *recv_types, Int *comm, Int *ierror),
    finish_or_forward(intercept_alltoallw(
                          of_types(address(send), ints(send_counts), ints(send_displs), Types::of_fortran(send_types)),
                          of_types(address(recv), ints(recv_counts), ints(recv_displs), Types::of_fortran(recv_types)),
                          comm_of(comm)),
                      next, ierror, send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs,
                      recv_types, comm))

COLL_FORTRAN_WITH_BUFFER(
    neighbor_allgather, NEIGHBOR_ALLGATHER,
    (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *comm, Int *ierror),
    finish_or_forward(intercept_neighbors(neighbor_allgather,
                                          same_for_all(address(send), *send_count, type_of(send_type)),
                                          of_one_length(address(recv), *recv_count, type_of(recv_type)), comm_of(comm)),
                      next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(
    neighbor_allgatherv, NEIGHBOR_ALLGATHERV,
    (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs, Int *recv_type, Int *comm,
     Int *ierror),
    finish_or_forward(
        intercept_neighbors(neighbor_allgatherv, same_for_all(address(send), *send_count, type_of(send_type)),
                            of_lengths(address(recv), ints(recv_counts), ints(displs), type_of(recv_type)),
                            comm_of(comm)),
        next, ierror, send, send_count, send_type, recv, recv_counts, displs, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(
    neighbor_alltoall, NEIGHBOR_ALLTOALL,
    (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *comm, Int *ierror),
    finish_or_forward(intercept_neighbors(neighbor_alltoall,
                                          of_one_length(address(send), *send_count, type_of(send_type)),
                                          of_one_length(address(recv), *recv_count, type_of(recv_type)), comm_of(comm)),
                      next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(neighbor_alltoallv, NEIGHBOR_ALLTOALLV,
                         (void *send, Int *send_counts, Int *send_displs, Int *send_type, void *recv, Int *recv_counts,
                          Int *recv_displs, Int *recv_type, Int *comm, Int *ierror),
                         finish_or_forward(intercept_neighbors(neighbor_alltoallv,
                                                               of_lengths(address(send), ints(send_counts),
                                                                          ints(send_displs), type_of(send_type)),
                                                               of_lengths(address(recv), ints(recv_counts),
                                                                          ints(recv_displs), type_of(recv_type)),
                                                               comm_of(comm)),
                                           next, ierror, send, send_counts, send_displs, send_type, recv, recv_counts,
                                           recv_displs, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(
    neighbor_alltoallw, NEIGHBOR_ALLTOALLW,
    (void *send, Int *send_counts, MPI_Aint *send_displs, Int *send_types, void *recv, Int *recv_counts,
     MPI_Aint *recv_displs, Int *recv_types, Int *comm, Int *ierror),
    finish_or_forward(intercept_neighbors(neighbor_alltoallw,
                                          of_types(address(send), ints(send_counts), places(send_displs),
                                                   Types::of_fortran(send_types)),
                                          of_types(address(recv), ints(recv_counts), places(recv_displs),
                                                   Types::of_fortran(recv_types)),
                                          comm_of(comm)),
                      next, ierror, send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs,
                      recv_types, comm))

COLL_FORTRAN_WITH_BUFFER(ialltoallw, IALLTOALLW,
                         (void *send, Int *send_counts, Int *send_displs, Int *send_types, void *recv, Int *recv_counts,
                          Int *recv_displs, Int *recv_types, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_alltoallw(of_types(address(send), ints(send_counts), ints(send_displs),
                                                               Types::of_fortran(send_types)),
                                                      of_types(address(recv), ints(recv_counts), ints(recv_displs),
                                                               Types::of_fortran(recv_types)),
                                                      comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_counts, send_displs, send_types, recv, recv_counts,
                             recv_displs, recv_types, comm, request))

COLL_FORTRAN_WITH_BUFFER(ineighbor_allgather, INEIGHBOR_ALLGATHER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_neighbors(ineighbor_allgather,
                                                      same_for_all(address(send), *send_count, type_of(send_type)),
                                                      of_one_length(address(recv), *recv_count, type_of(recv_type)),
                                                      comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm,
                             request))

COLL_FORTRAN_WITH_BUFFER(ineighbor_allgatherv, INEIGHBOR_ALLGATHERV,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs,
                          Int *recv_type, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_neighbors(
                                   ineighbor_allgatherv, same_for_all(address(send), *send_count, type_of(send_type)),
                                   of_lengths(address(recv), ints(recv_counts), ints(displs), type_of(recv_type)),
                                   comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_counts, displs, recv_type,
                             comm, request))

COLL_FORTRAN_WITH_BUFFER(ineighbor_alltoall, INEIGHBOR_ALLTOALL,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_neighbors(ineighbor_alltoall,
                                                      of_one_length(address(send), *send_count, type_of(send_type)),
                                                      of_one_length(address(recv), *recv_count, type_of(recv_type)),
                                                      comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm,
                             request))

COLL_FORTRAN_WITH_BUFFER(ineighbor_alltoallv, INEIGHBOR_ALLTOALLV,
                         (void *send, Int *send_counts, Int *send_displs, Int *send_type, void *recv, Int *recv_counts,
                          Int *recv_displs, Int *recv_type, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_neighbors(
                                   ineighbor_alltoallv,
                                   of_lengths(address(send), ints(send_counts), ints(send_displs), type_of(send_type)),
                                   of_lengths(address(recv), ints(recv_counts), ints(recv_displs), type_of(recv_type)),
                                   comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_counts, send_displs, send_type, recv, recv_counts,
                             recv_displs, recv_type, comm, request))

COLL_FORTRAN_WITH_BUFFER(
    ineighbor_alltoallw, INEIGHBOR_ALLTOALLW,
    (void *send, Int *send_counts, MPI_Aint *send_displs, Int *send_types, void *recv, Int *recv_counts,
     MPI_Aint *recv_displs, Int *recv_types, Int *comm, Int *request, Int *ierror),
    finish_or_forward_start(
        [&](MPI_Request *handle) {
          return start_neighbors(
              ineighbor_alltoallw,
              of_types(address(send), ints(send_counts), places(send_displs), Types::of_fortran(send_types)),
              of_types(address(recv), ints(recv_counts), places(recv_displs), Types::of_fortran(recv_types)),
              comm_of(comm), handle);
        },
        request, next, ierror, send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs, recv_types,
        comm, request))

#endif
