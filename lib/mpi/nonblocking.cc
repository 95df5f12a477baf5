// SPDX-License-Identifier: BSD-3-Clause
//
// The C entry points of non-blocking collectives.
#include "mpi/library.h"
#include "mpi/start.h"
#include "mpi/waits.h"

using namespace coll::shim;

extern "C" {

#pragma GCC visibility push(default)

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
  const int result = start_barrier(comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ibarrier, comm, request);
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request) {
  const int result = start_bcast(buffer, count, datatype, root, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ibcast, buffer, count,
                                                   datatype, root, comm, request);
}

int MPI_Ireduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request *request) {
  const int result = start_reduce(send, recv, count, datatype, op, root, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ireduce, send, recv,
                                                   count, datatype, op, root, comm, request);
}

int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
  const int result = start_allreduce(send, recv, count, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Iallreduce, send, recv,
                                                   count, datatype, op, comm, request);
}

int MPI_Ireduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm, MPI_Request *request) {
  const int result = start_reduce_scatter(send, recv, counts, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ireduce_scatter, send,
                                                   recv, counts, datatype, op, comm, request);
}

int MPI_Ireduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request) {
  const int result = start_reduce_scatter_block(send, recv, count, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ireduce_scatter_block,
                                                   send, recv, count, datatype, op, comm, request);
}

int MPI_Iscan(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
              MPI_Request *request) {
  const int result = start_scan(send, recv, count, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Iscan, send, recv,
                                                   count, datatype, op, comm, request);
}

int MPI_Iexscan(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                MPI_Request *request) {
  const int result = start_exscan(send, recv, count, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Iexscan, send, recv,
                                                   count, datatype, op, comm, request);
}

int MPI_Igather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request *request) {
  const int result = start_gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Igather, send, send_count, send_type, recv,
                             recv_count, recv_type, root, comm, request);
}

int MPI_Igatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int *recv_counts,
                 const int *displs, MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request *request) {
  const int result =
      start_gatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Igatherv, send, send_count, send_type, recv,
                             recv_counts, displs, recv_type, root, comm, request);
}

int MPI_Iscatter(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                 MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request *request) {
  const int result = start_scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Iscatter, send, send_count, send_type, recv,
                             recv_count, recv_type, root, comm, request);
}

int MPI_Iscatterv(const void *send, const int *send_counts, const int *displs, MPI_Datatype send_type, void *recv,
                  int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request *request) {
  const int result =
      start_scatterv(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Iscatterv, send, send_counts, displs,
                             send_type, recv, recv_count, recv_type, root, comm, request);
}

int MPI_Iallgather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                   MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_allgather(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Iallgather, send,
                                                   send_count, send_type, recv, recv_count, recv_type, comm, request);
}

int MPI_Iallgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int *recv_counts,
                    const int *displs, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_allgatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Iallgatherv, send, send_count, send_type,
                             recv, recv_counts, displs, recv_type, comm, request);
}

int MPI_Ialltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                  MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ialltoall, send,
                                                   send_count, send_type, recv, recv_count, recv_type, comm, request);
}

int MPI_Ialltoallv(const void *send, const int *send_counts, const int *send_displs, MPI_Datatype send_type, void *recv,
                   const int *recv_counts, const int *recv_displs, MPI_Datatype recv_type, MPI_Comm comm,
                   MPI_Request *request) {
  const int result = start_alltoallv(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs,
                                     recv_type, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ialltoallv, send, send_counts, send_displs,
                             send_type, recv, recv_counts, recv_displs, recv_type, comm, request);
}

#ifndef OPEN_MPI
// MPICH polls generalized requests in all waits and tests except this one.
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
  complete_finished();
  return mpi_library().next.Request_get_status(request, flag, status);
}
#endif

#pragma GCC visibility pop

}  // extern "C"
