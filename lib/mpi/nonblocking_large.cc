// SPDX-License-Identifier: BSD-3-Clause
//
// The C entry points of non-blocking collectives with large counts, which MPI 4 has added.
#include "mpi/library.h"
#include "mpi/start.h"
#include "mpi/waits.h"

#ifdef COLL_SHIM_LARGE_COUNTS

using namespace coll::shim;

extern "C" {

#pragma GCC visibility push(default)

int MPI_Ibcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request) {
  const int result = start_bcast(buffer, count, datatype, root, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ibcast_c, buffer, count,
                                                   datatype, root, comm, request);
}

int MPI_Ireduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                  MPI_Comm comm, MPI_Request *request) {
  const int result = start_reduce(send, recv, count, datatype, op, root, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ireduce_c, send, recv,
                                                   count, datatype, op, root, comm, request);
}

int MPI_Iallreduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     MPI_Request *request) {
  const int result = start_allreduce(send, recv, count, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Iallreduce_c, send,
                                                   recv, count, datatype, op, comm, request);
}

int MPI_Ireduce_scatter_c(const void *send, void *recv, const MPI_Count *counts, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm, MPI_Request *request) {
  const int result = start_reduce_scatter(send, recv, counts, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ireduce_scatter_c, send,
                                                   recv, counts, datatype, op, comm, request);
}

int MPI_Ireduce_scatter_block_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                MPI_Comm comm, MPI_Request *request) {
  const int result = start_reduce_scatter_block(send, recv, count, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ireduce_scatter_block_c,
                                                   send, recv, count, datatype, op, comm, request);
}

int MPI_Iscan_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                MPI_Request *request) {
  const int result = start_scan(send, recv, count, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Iscan_c, send, recv,
                                                   count, datatype, op, comm, request);
}

int MPI_Iexscan_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  MPI_Request *request) {
  const int result = start_exscan(send, recv, count, datatype, op, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Iexscan_c, send, recv,
                                                   count, datatype, op, comm, request);
}

int MPI_Igather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                  MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request *request) {
  const int result = start_gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Igather_c, send, send_count, send_type, recv,
                             recv_count, recv_type, root, comm, request);
}

int MPI_Igatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                   const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, int root,
                   MPI_Comm comm, MPI_Request *request) {
  const int result =
      start_gatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Igatherv_c, send, send_count, send_type, recv,
                             recv_counts, displs, recv_type, root, comm, request);
}

int MPI_Iscatter_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                   MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request *request) {
  const int result = start_scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Iscatter_c, send, send_count, send_type, recv,
                             recv_count, recv_type, root, comm, request);
}

int MPI_Iscatterv_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *displs, MPI_Datatype send_type,
                    void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
                    MPI_Request *request) {
  const int result =
      start_scatterv(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Iscatterv_c, send, send_counts, displs,
                             send_type, recv, recv_count, recv_type, root, comm, request);
}

int MPI_Iallgather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                     MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_allgather(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Iallgather_c, send,
                                                   send_count, send_type, recv, recv_count, recv_type, comm, request);
}

int MPI_Iallgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                      const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, MPI_Comm comm,
                      MPI_Request *request) {
  const int result = start_allgatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Iallgatherv_c, send, send_count, send_type,
                             recv, recv_counts, displs, recv_type, comm, request);
}

int MPI_Ialltoall_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                    MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm, request);
  return result != not_intercepted ? result
                                   : forward_start([&] { return *request; }, mpi_library().next.Ialltoall_c, send,
                                                   send_count, send_type, recv, recv_count, recv_type, comm, request);
}

int MPI_Ialltoallv_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                     MPI_Datatype send_type, void *recv, const MPI_Count *recv_counts, const MPI_Aint *recv_displs,
                     MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_alltoallv(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs,
                                     recv_type, comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ialltoallv_c, send, send_counts, send_displs,
                             send_type, recv, recv_counts, recv_displs, recv_type, comm, request);
}

#pragma GCC visibility pop

}  // extern "C"

#endif
