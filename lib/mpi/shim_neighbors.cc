// SPDX-License-Identifier: BSD-3-Clause
//
// The C entry points of MPI_Alltoallw and the neighbourhood collectives: blocking, non-blocking, and with large counts.
#include "mpi/library.h"
#include "mpi/neighbors.h"
#include "mpi/waits.h"

using namespace coll::shim;

extern "C" {

#pragma GCC visibility push(default)

int MPI_Alltoallw(const void *send, const int *send_counts, const int *send_displs, const MPI_Datatype *send_types,
                  void *recv, const int *recv_counts, const int *recv_displs, const MPI_Datatype *recv_types,
                  MPI_Comm comm) {
  const int result = intercept_alltoallw(of_types(send, send_counts, send_displs, Types(send_types)),
                                         of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Alltoallw, send, send_counts, send_displs, send_types,
                                             recv, recv_counts, recv_displs, recv_types, comm);
}

int MPI_Neighbor_allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                           MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_neighbors(neighbor_allgather, same_for_all(send, send_count, send_type),
                                         of_one_length(recv, recv_count, recv_type), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_allgather, send, send_count, send_type, recv,
                                             recv_count, recv_type, comm);
}

int MPI_Neighbor_allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
                            const int *recv_counts, const int *displs, MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_neighbors(neighbor_allgatherv, same_for_all<int, int>(send, send_count, send_type),
                                         of_lengths(recv, recv_counts, displs, recv_type), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_allgatherv, send, send_count, send_type, recv,
                                             recv_counts, displs, recv_type, comm);
}

int MPI_Neighbor_alltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                          MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_neighbors(neighbor_alltoall, of_one_length(send, send_count, send_type),
                                         of_one_length(recv, recv_count, recv_type), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_alltoall, send, send_count, send_type, recv,
                                             recv_count, recv_type, comm);
}

int MPI_Neighbor_alltoallv(const void *send, const int *send_counts, const int *send_displs, MPI_Datatype send_type,
                           void *recv, const int *recv_counts, const int *recv_displs, MPI_Datatype recv_type,
                           MPI_Comm comm) {
  const int result = intercept_neighbors(neighbor_alltoallv, of_lengths(send, send_counts, send_displs, send_type),
                                         of_lengths(recv, recv_counts, recv_displs, recv_type), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_alltoallv, send, send_counts, send_displs,
                                             send_type, recv, recv_counts, recv_displs, recv_type, comm);
}

int MPI_Neighbor_alltoallw(const void *send, const int *send_counts, const MPI_Aint *send_displs,
                           const MPI_Datatype *send_types, void *recv, const int *recv_counts,
                           const MPI_Aint *recv_displs, const MPI_Datatype *recv_types, MPI_Comm comm) {
  const int result =
      intercept_neighbors(neighbor_alltoallw, of_types(send, send_counts, send_displs, Types(send_types)),
                          of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_alltoallw, send, send_counts, send_displs,
                                             send_types, recv, recv_counts, recv_displs, recv_types, comm);
}

int MPI_Ialltoallw(const void *send, const int *send_counts, const int *send_displs, const MPI_Datatype *send_types,
                   void *recv, const int *recv_counts, const int *recv_displs, const MPI_Datatype *recv_types,
                   MPI_Comm comm, MPI_Request *request) {
  const int result = start_alltoallw(of_types(send, send_counts, send_displs, Types(send_types)),
                                     of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ialltoallw, send, send_counts, send_displs,
                             send_types, recv, recv_counts, recv_displs, recv_types, comm, request);
}

int MPI_Ineighbor_allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                            MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_neighbors(ineighbor_allgather, same_for_all(send, send_count, send_type),
                                     of_one_length(recv, recv_count, recv_type), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_allgather, send, send_count,
                             send_type, recv, recv_count, recv_type, comm, request);
}

int MPI_Ineighbor_allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv,
                             const int *recv_counts, const int *displs, MPI_Datatype recv_type, MPI_Comm comm,
                             MPI_Request *request) {
  const int result = start_neighbors(ineighbor_allgatherv, same_for_all<int, int>(send, send_count, send_type),
                                     of_lengths(recv, recv_counts, displs, recv_type), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_allgatherv, send, send_count,
                             send_type, recv, recv_counts, displs, recv_type, comm, request);
}

int MPI_Ineighbor_alltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                           MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_neighbors(ineighbor_alltoall, of_one_length(send, send_count, send_type),
                                     of_one_length(recv, recv_count, recv_type), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_alltoall, send, send_count,
                             send_type, recv, recv_count, recv_type, comm, request);
}

int MPI_Ineighbor_alltoallv(const void *send, const int *send_counts, const int *send_displs, MPI_Datatype send_type,
                            void *recv, const int *recv_counts, const int *recv_displs, MPI_Datatype recv_type,
                            MPI_Comm comm, MPI_Request *request) {
  const int result = start_neighbors(ineighbor_alltoallv, of_lengths(send, send_counts, send_displs, send_type),
                                     of_lengths(recv, recv_counts, recv_displs, recv_type), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_alltoallv, send, send_counts,
                             send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm, request);
}

int MPI_Ineighbor_alltoallw(const void *send, const int *send_counts, const MPI_Aint *send_displs,
                            const MPI_Datatype *send_types, void *recv, const int *recv_counts,
                            const MPI_Aint *recv_displs, const MPI_Datatype *recv_types, MPI_Comm comm,
                            MPI_Request *request) {
  const int result = start_neighbors(ineighbor_alltoallw, of_types(send, send_counts, send_displs, Types(send_types)),
                                     of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_alltoallw, send, send_counts,
                             send_displs, send_types, recv, recv_counts, recv_displs, recv_types, comm, request);
}

#ifdef COLL_SHIM_LARGE_COUNTS

int MPI_Alltoallw_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                    const MPI_Datatype *send_types, void *recv, const MPI_Count *recv_counts,
                    const MPI_Aint *recv_displs, const MPI_Datatype *recv_types, MPI_Comm comm) {
  const int result = intercept_alltoallw(of_types(send, send_counts, send_displs, Types(send_types)),
                                         of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Alltoallw_c, send, send_counts, send_displs, send_types,
                                             recv, recv_counts, recv_displs, recv_types, comm);
}

int MPI_Neighbor_allgather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                             MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_neighbors(neighbor_allgather, same_for_all(send, send_count, send_type),
                                         of_one_length(recv, recv_count, recv_type), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_allgather_c, send, send_count, send_type, recv,
                                             recv_count, recv_type, comm);
}

int MPI_Neighbor_allgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                              const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type,
                              MPI_Comm comm) {
  const int result =
      intercept_neighbors(neighbor_allgatherv, same_for_all<MPI_Count, MPI_Aint>(send, send_count, send_type),
                          of_lengths(recv, recv_counts, displs, recv_type), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_allgatherv_c, send, send_count, send_type,
                                             recv, recv_counts, displs, recv_type, comm);
}

int MPI_Neighbor_alltoall_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                            MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_neighbors(neighbor_alltoall, of_one_length(send, send_count, send_type),
                                         of_one_length(recv, recv_count, recv_type), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_alltoall_c, send, send_count, send_type, recv,
                                             recv_count, recv_type, comm);
}

int MPI_Neighbor_alltoallv_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                             MPI_Datatype send_type, void *recv, const MPI_Count *recv_counts,
                             const MPI_Aint *recv_displs, MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_neighbors(neighbor_alltoallv, of_lengths(send, send_counts, send_displs, send_type),
                                         of_lengths(recv, recv_counts, recv_displs, recv_type), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_alltoallv_c, send, send_counts, send_displs,
                                             send_type, recv, recv_counts, recv_displs, recv_type, comm);
}

int MPI_Neighbor_alltoallw_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                             const MPI_Datatype *send_types, void *recv, const MPI_Count *recv_counts,
                             const MPI_Aint *recv_displs, const MPI_Datatype *recv_types, MPI_Comm comm) {
  const int result =
      intercept_neighbors(neighbor_alltoallw, of_types(send, send_counts, send_displs, Types(send_types)),
                          of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Neighbor_alltoallw_c, send, send_counts, send_displs,
                                             send_types, recv, recv_counts, recv_displs, recv_types, comm);
}

int MPI_Ialltoallw_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                     const MPI_Datatype *send_types, void *recv, const MPI_Count *recv_counts,
                     const MPI_Aint *recv_displs, const MPI_Datatype *recv_types, MPI_Comm comm, MPI_Request *request) {
  const int result = start_alltoallw(of_types(send, send_counts, send_displs, Types(send_types)),
                                     of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ialltoallw_c, send, send_counts, send_displs,
                             send_types, recv, recv_counts, recv_displs, recv_types, comm, request);
}

int MPI_Ineighbor_allgather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                              MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_neighbors(ineighbor_allgather, same_for_all(send, send_count, send_type),
                                     of_one_length(recv, recv_count, recv_type), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_allgather_c, send, send_count,
                             send_type, recv, recv_count, recv_type, comm, request);
}

int MPI_Ineighbor_allgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                               const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type,
                               MPI_Comm comm, MPI_Request *request) {
  const int result =
      start_neighbors(ineighbor_allgatherv, same_for_all<MPI_Count, MPI_Aint>(send, send_count, send_type),
                      of_lengths(recv, recv_counts, displs, recv_type), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_allgatherv_c, send, send_count,
                             send_type, recv, recv_counts, displs, recv_type, comm, request);
}

int MPI_Ineighbor_alltoall_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                             MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Request *request) {
  const int result = start_neighbors(ineighbor_alltoall, of_one_length(send, send_count, send_type),
                                     of_one_length(recv, recv_count, recv_type), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_alltoall_c, send, send_count,
                             send_type, recv, recv_count, recv_type, comm, request);
}

int MPI_Ineighbor_alltoallv_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                              MPI_Datatype send_type, void *recv, const MPI_Count *recv_counts,
                              const MPI_Aint *recv_displs, MPI_Datatype recv_type, MPI_Comm comm,
                              MPI_Request *request) {
  const int result = start_neighbors(ineighbor_alltoallv, of_lengths(send, send_counts, send_displs, send_type),
                                     of_lengths(recv, recv_counts, recv_displs, recv_type), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_alltoallv_c, send, send_counts,
                             send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm, request);
}

int MPI_Ineighbor_alltoallw_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                              const MPI_Datatype *send_types, void *recv, const MPI_Count *recv_counts,
                              const MPI_Aint *recv_displs, const MPI_Datatype *recv_types, MPI_Comm comm,
                              MPI_Request *request) {
  const int result = start_neighbors(ineighbor_alltoallw, of_types(send, send_counts, send_displs, Types(send_types)),
                                     of_types(recv, recv_counts, recv_displs, Types(recv_types)), comm, request);
  return result != not_intercepted
             ? result
             : forward_start([&] { return *request; }, mpi_library().next.Ineighbor_alltoallw_c, send, send_counts,
                             send_displs, send_types, recv, recv_counts, recv_displs, recv_types, comm, request);
}

#endif

#pragma GCC visibility pop

}  // extern "C"
