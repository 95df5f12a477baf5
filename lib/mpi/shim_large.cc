// SPDX-License-Identifier: BSD-3-Clause
//
// The C entry points with large counts, which MPI 4 has added. MPI lets a rank call one of them while its peers call
// the variant with int.
#include "mpi/intercept.h"
#include "mpi/library.h"

#ifdef COLL_SHIM_LARGE_COUNTS

using namespace coll::shim;

extern "C" {

#pragma GCC visibility push(default)

int MPI_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  const int result = intercept_bcast(buffer, count, datatype, root, comm);
  return result != not_intercepted ? result : forward(mpi_library().next.Bcast_c, buffer, count, datatype, root, comm);
}

int MPI_Reduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm) {
  const int result = intercept_reduce(send, recv, count, datatype, op, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Reduce_c, send, recv, count, datatype, op, root, comm);
}

int MPI_Allreduce_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const int result = intercept_allreduce(send, recv, count, datatype, op, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Allreduce_c, send, recv, count, datatype, op, comm);
}

int MPI_Reduce_scatter_c(const void *send, void *recv, const MPI_Count *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm) {
  const int result = intercept_reduce_scatter(send, recv, counts, datatype, op, comm);
  return result != not_intercepted
             ? result
             : forward(mpi_library().next.Reduce_scatter_c, send, recv, counts, datatype, op, comm);
}

int MPI_Reduce_scatter_block_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm) {
  const int result = intercept_reduce_scatter_block(send, recv, count, datatype, op, comm);
  return result != not_intercepted
             ? result
             : forward(mpi_library().next.Reduce_scatter_block_c, send, recv, count, datatype, op, comm);
}

int MPI_Scan_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const int result = intercept_scan(send, recv, count, datatype, op, comm);
  return result != not_intercepted ? result : forward(mpi_library().next.Scan_c, send, recv, count, datatype, op, comm);
}

int MPI_Exscan_c(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const int result = intercept_exscan(send, recv, count, datatype, op, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Exscan_c, send, recv, count, datatype, op, comm);
}

int MPI_Gather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                 MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const int result = intercept_gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Gather_c, send, send_count, send_type, recv, recv_count,
                                             recv_type, root, comm);
}

int MPI_Gatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                  const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, int root,
                  MPI_Comm comm) {
  const int result = intercept_gatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Gatherv_c, send, send_count, send_type, recv,
                                             recv_counts, displs, recv_type, root, comm);
}

int MPI_Scatter_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                  MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const int result = intercept_scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Scatter_c, send, send_count, send_type, recv,
                                             recv_count, recv_type, root, comm);
}

int MPI_Scatterv_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *displs, MPI_Datatype send_type,
                   void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const int result = intercept_scatterv(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Scatterv_c, send, send_counts, displs, send_type, recv,
                                             recv_count, recv_type, root, comm);
}

int MPI_Allgather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                    MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
  return result != not_intercepted
             ? result
             : forward(mpi_library().next.Allgather_c, send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int MPI_Allgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                     const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_allgatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Allgatherv_c, send, send_count, send_type, recv,
                                             recv_counts, displs, recv_type, comm);
}

int MPI_Alltoall_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                   MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
  return result != not_intercepted
             ? result
             : forward(mpi_library().next.Alltoall_c, send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int MPI_Alltoallv_c(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs, MPI_Datatype send_type,
                    void *recv, const MPI_Count *recv_counts, const MPI_Aint *recv_displs, MPI_Datatype recv_type,
                    MPI_Comm comm) {
  const int result =
      intercept_alltoallv(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Alltoallv_c, send, send_counts, send_displs, send_type,
                                             recv, recv_counts, recv_displs, recv_type, comm);
}

#pragma GCC visibility pop

}  // extern "C"

#endif
