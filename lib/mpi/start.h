// SPDX-License-Identifier: BSD-3-Clause
// The non-blocking and persistent collectives. The decisions and the variants with arrays of counts are those of
// intercept.h.
#pragma once

#include "mpi/start_call.h"

namespace coll::shim {

int start_barrier(MPI_Comm comm, Target target);
int start_bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, Target target);
int start_reduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm, Target target);
int start_allreduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    Target target);
int start_reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, Target target);
int start_reduce_scatter(const void *send, void *recv, const MPI_Count *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, Target target);
int start_reduce_scatter_block(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm, Target target);
int start_scan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
               Target target);
int start_exscan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                 Target target);
int start_gather(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                 MPI_Datatype recv_type, int root, MPI_Comm comm, Target target);
int start_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, const int *recv_counts,
                  const int *displs, MPI_Datatype recv_type, int root, MPI_Comm comm, Target target);
int start_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                  const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, int root, MPI_Comm comm,
                  Target target);
int start_scatter(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                  MPI_Datatype recv_type, int root, MPI_Comm comm, Target target);
int start_scatterv(const void *send, const int *send_counts, const int *displs, MPI_Datatype send_type, void *recv,
                   MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm, Target target);
int start_scatterv(const void *send, const MPI_Count *send_counts, const MPI_Aint *displs, MPI_Datatype send_type,
                   void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm, Target target);
int start_allgather(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                    MPI_Datatype recv_type, MPI_Comm comm, Target target);
int start_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, const int *recv_counts,
                     const int *displs, MPI_Datatype recv_type, MPI_Comm comm, Target target);
int start_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
                     const MPI_Count *recv_counts, const MPI_Aint *displs, MPI_Datatype recv_type, MPI_Comm comm,
                     Target target);
int start_alltoall(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv, MPI_Count recv_count,
                   MPI_Datatype recv_type, MPI_Comm comm, Target target);
int start_alltoallv(const void *send, const int *send_counts, const int *send_displs, MPI_Datatype send_type,
                    void *recv, const int *recv_counts, const int *recv_displs, MPI_Datatype recv_type, MPI_Comm comm,
                    Target target);
int start_alltoallv(const void *send, const MPI_Count *send_counts, const MPI_Aint *send_displs, MPI_Datatype send_type,
                    void *recv, const MPI_Count *recv_counts, const MPI_Aint *recv_displs, MPI_Datatype recv_type,
                    MPI_Comm comm, Target target);

}  // namespace coll::shim
