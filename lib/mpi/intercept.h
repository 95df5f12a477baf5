// SPDX-License-Identifier: BSD-3-Clause
// The blocking collectives, with the arguments of C. Each function decides whether to intercept the call; the decision
// depends only on what MPI requires to be equal on all ranks (README.md has the reasons for each collective). Calls
// with wrong arguments are forwarded before anything collective happens, so the MPI library reports the error.
#pragma once

#include "mpi/call.h"
#include "mpi/handles.h"

namespace coll::shim {

// Each returns the value of the MPI call, or `not_intercepted`. Thread safe as MPI's own functions. The overloads with arrays
// of MPI_Count are for MPI_Gatherv_c and the like; a rank may call these while its peers call the others.
int intercept_barrier(MPI_Comm comm);
int intercept_bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm);
int intercept_reduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                     MPI_Comm comm);
int intercept_allreduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int intercept_reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm);
int intercept_reduce_scatter(const void *send, void *recv, const MPI_Count *counts, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm);
int intercept_reduce_scatter_block(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                   MPI_Comm comm);
int intercept_scan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int intercept_exscan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int intercept_gather(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                     MPI_Datatype recv_type, int root, MPI_Comm comm);
int intercept_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                      const int *recv_counts, const int *displs, MPI_Datatype recv_type, int root, MPI_Comm comm);
int intercept_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                      const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, int root,
                      MPI_Comm comm);
int intercept_scatter(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                      MPI_Datatype recv_type, int root, MPI_Comm comm);
int intercept_scatterv(const void *send, const int *send_counts, const int *displs, MPI_Datatype send_type, void *recv,
                       MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm);
int intercept_scatterv(const void *send, const MPI_Count *send_counts, const MPI_Aint *displs, MPI_Datatype send_type,
                       void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm);
int intercept_allgather(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                        MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm);
int intercept_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                         const int *recv_counts, const int *displs, MPI_Datatype recv_type, MPI_Comm comm);
int intercept_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                         const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, MPI_Comm comm);
int intercept_alltoall(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                       MPI_Datatype recv_type, MPI_Comm comm);
int intercept_alltoallv(const void *send, const int *send_counts, const int *send_displs, MPI_Datatype send_type,
                        void *recv, const int *recv_counts, const int *recv_displs, MPI_Datatype recv_type,
                        MPI_Comm comm);
int intercept_alltoallv(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs,
                        MPI_Datatype send_type, void *recv, const MPI_Count *recv_counts, const MPI_Aint *recv_displs,
                        MPI_Datatype recv_type, MPI_Comm comm);

}  // namespace coll::shim
