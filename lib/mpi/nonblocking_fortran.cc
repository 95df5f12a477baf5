// SPDX-License-Identifier: BSD-3-Clause
//
// The Fortran entry points of non-blocking collectives.
#include "mpi/fortran.h"
#include "mpi/fortran_started.h"

#include "mpi/start.h"

using namespace coll::shim;

COLL_FORTRAN_WITHOUT_BUFFER(
    ibarrier, IBARRIER, (Int * comm, Int *request, Int *ierror),
    finish_or_forward_start([&](MPI_Request *handle) { return start_barrier(comm_of(comm), handle); }, request, next,
                            ierror, comm, request))

COLL_FORTRAN_WITH_BUFFER(ibcast, IBCAST,
                         (void *buffer, Int *count, Int *datatype, Int *root, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_bcast(address(buffer), *count, type_of(datatype), *root, comm_of(comm),
                                                  handle);
                             },
                             request, next, ierror, buffer, count, datatype, root, comm, request))

COLL_FORTRAN_WITH_BUFFER(ireduce, IREDUCE,
                         (void *send, void *recv, Int *count, Int *datatype, Int *op, Int *root, Int *comm,
                          Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_reduce(address(send), address(recv), *count, type_of(datatype), op_of(op),
                                                   *root, comm_of(comm), handle);
                             },
                             request, next, ierror, send, recv, count, datatype, op, root, comm, request))

COLL_FORTRAN_WITH_BUFFER(iallreduce, IALLREDUCE,
                         (void *send, void *recv, Int *count, Int *datatype, Int *op, Int *comm, Int *request,
                          Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_allreduce(address(send), address(recv), *count, type_of(datatype),
                                                      op_of(op), comm_of(comm), handle);
                             },
                             request, next, ierror, send, recv, count, datatype, op, comm, request))

COLL_FORTRAN_WITH_BUFFER(ireduce_scatter, IREDUCE_SCATTER,
                         (void *send, void *recv, Int *counts, Int *datatype, Int *op, Int *comm, Int *request,
                          Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_reduce_scatter(address(send), address(recv), counts, type_of(datatype),
                                                           op_of(op), comm_of(comm), handle);
                             },
                             request, next, ierror, send, recv, counts, datatype, op, comm, request))

COLL_FORTRAN_WITH_BUFFER(ireduce_scatter_block, IREDUCE_SCATTER_BLOCK,
                         (void *send, void *recv, Int *count, Int *datatype, Int *op, Int *comm, Int *request,
                          Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_reduce_scatter_block(address(send), address(recv), *count,
                                                                 type_of(datatype), op_of(op), comm_of(comm), handle);
                             },
                             request, next, ierror, send, recv, count, datatype, op, comm, request))

COLL_FORTRAN_WITH_BUFFER(
    iscan, ISCAN, (void *send, void *recv, Int *count, Int *datatype, Int *op, Int *comm, Int *request, Int *ierror),
    finish_or_forward_start(
        [&](MPI_Request *handle) {
          return start_scan(address(send), address(recv), *count, type_of(datatype), op_of(op), comm_of(comm), handle);
        },
        request, next, ierror, send, recv, count, datatype, op, comm, request))

COLL_FORTRAN_WITH_BUFFER(iexscan, IEXSCAN,
                         (void *send, void *recv, Int *count, Int *datatype, Int *op, Int *comm, Int *request,
                          Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_exscan(address(send), address(recv), *count, type_of(datatype), op_of(op),
                                                   comm_of(comm), handle);
                             },
                             request, next, ierror, send, recv, count, datatype, op, comm, request))

COLL_FORTRAN_WITH_BUFFER(igather, IGATHER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *root, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_gather(address(send), *send_count, type_of(send_type), address(recv),
                                                   *recv_count, type_of(recv_type), *root, comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_count, recv_type, root,
                             comm, request))

COLL_FORTRAN_WITH_BUFFER(igatherv, IGATHERV,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs,
                          Int *recv_type, Int *root, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_gatherv(address(send), *send_count, type_of(send_type), address(recv),
                                                    recv_counts, displs, type_of(recv_type), *root, comm_of(comm),
                                                    handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_counts, displs, recv_type,
                             root, comm, request))

COLL_FORTRAN_WITH_BUFFER(iscatter, ISCATTER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *root, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_scatter(address(send), *send_count, type_of(send_type), address(recv),
                                                    *recv_count, type_of(recv_type), *root, comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_count, recv_type, root,
                             comm, request))

COLL_FORTRAN_WITH_BUFFER(iscatterv, ISCATTERV,
                         (void *send, Int *send_counts, Int *displs, Int *send_type, void *recv, Int *recv_count,
                          Int *recv_type, Int *root, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_scatterv(address(send), send_counts, displs, type_of(send_type),
                                                     address(recv), *recv_count, type_of(recv_type), *root,
                                                     comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_counts, displs, send_type, recv, recv_count, recv_type,
                             root, comm, request))

COLL_FORTRAN_WITH_BUFFER(iallgather, IALLGATHER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_allgather(address(send), *send_count, type_of(send_type), address(recv),
                                                      *recv_count, type_of(recv_type), comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm,
                             request))

COLL_FORTRAN_WITH_BUFFER(iallgatherv, IALLGATHERV,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs,
                          Int *recv_type, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_allgatherv(address(send), *send_count, type_of(send_type), address(recv),
                                                       recv_counts, displs, type_of(recv_type), comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_counts, displs, recv_type,
                             comm, request))

COLL_FORTRAN_WITH_BUFFER(ialltoall, IALLTOALL,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_alltoall(address(send), *send_count, type_of(send_type), address(recv),
                                                     *recv_count, type_of(recv_type), comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm,
                             request))

COLL_FORTRAN_WITH_BUFFER(ialltoallv, IALLTOALLV,
                         (void *send, Int *send_counts, Int *send_displs, Int *send_type, void *recv, Int *recv_counts,
                          Int *recv_displs, Int *recv_type, Int *comm, Int *request, Int *ierror),
                         finish_or_forward_start(
                             [&](MPI_Request *handle) {
                               return start_alltoallv(address(send), send_counts, send_displs, type_of(send_type),
                                                      address(recv), recv_counts, recv_displs, type_of(recv_type),
                                                      comm_of(comm), handle);
                             },
                             request, next, ierror, send, send_counts, send_displs, send_type, recv, recv_counts,
                             recv_displs, recv_type, comm, request))
