/* SPDX-License-Identifier: BSD-3-Clause */
/* Included before a test program, makes its collectives non-blocking: each is started, and then completed by one of the
   functions for that. PMPI_ calls, the reference, stay blocking. So do barriers: with them a program can have the shim ready for a
   communicator from the start, because non-blocking reductions of Open MPI 4.1 with operations that do not commute hang
   sometimes. */
#ifndef TESTS_MPI_AS_NONBLOCKING_H
#define TESTS_MPI_AS_NONBLOCKING_H

#include <mpi.h>

static inline int complete_started(int code, MPI_Request *request) {
  static unsigned calls = 0;
  int done = 0;
  if (code != MPI_SUCCESS) return code;
  switch (calls++ % 3) {
    case 0: return MPI_Wait(request, MPI_STATUS_IGNORE);
    case 1:
      while (!done)
        if ((code = MPI_Test(request, &done, MPI_STATUS_IGNORE)) != MPI_SUCCESS) return code;
      return code;
    default: {
      MPI_Request both[2] = {MPI_REQUEST_NULL, *request};
      MPI_Status statuses[2];
      code = MPI_Waitall(2, both, statuses);
      *request = both[1];
      return code;
    }
  }
}

#define STARTED(name, ...)                                           \
  __extension__({                                                    \
    MPI_Request started_;                                            \
    complete_started(MPI_##name(__VA_ARGS__, &started_), &started_); \
  })
#define MPI_Bcast(...) STARTED(Ibcast, __VA_ARGS__)
#define MPI_Reduce(...) STARTED(Ireduce, __VA_ARGS__)
#define MPI_Allreduce(...) STARTED(Iallreduce, __VA_ARGS__)
#define MPI_Reduce_scatter(...) STARTED(Ireduce_scatter, __VA_ARGS__)
#define MPI_Reduce_scatter_block(...) STARTED(Ireduce_scatter_block, __VA_ARGS__)
#define MPI_Scan(...) STARTED(Iscan, __VA_ARGS__)
#define MPI_Exscan(...) STARTED(Iexscan, __VA_ARGS__)
#define MPI_Gather(...) STARTED(Igather, __VA_ARGS__)
#define MPI_Gatherv(...) STARTED(Igatherv, __VA_ARGS__)
#define MPI_Scatter(...) STARTED(Iscatter, __VA_ARGS__)
#define MPI_Scatterv(...) STARTED(Iscatterv, __VA_ARGS__)
#define MPI_Allgather(...) STARTED(Iallgather, __VA_ARGS__)
#define MPI_Allgatherv(...) STARTED(Iallgatherv, __VA_ARGS__)
#define MPI_Alltoall(...) STARTED(Ialltoall, __VA_ARGS__)
#define MPI_Alltoallv(...) STARTED(Ialltoallv, __VA_ARGS__)

#define MPI_Bcast_c(...) STARTED(Ibcast_c, __VA_ARGS__)
#define MPI_Reduce_c(...) STARTED(Ireduce_c, __VA_ARGS__)
#define MPI_Allreduce_c(...) STARTED(Iallreduce_c, __VA_ARGS__)
#define MPI_Reduce_scatter_c(...) STARTED(Ireduce_scatter_c, __VA_ARGS__)
#define MPI_Reduce_scatter_block_c(...) STARTED(Ireduce_scatter_block_c, __VA_ARGS__)
#define MPI_Scan_c(...) STARTED(Iscan_c, __VA_ARGS__)
#define MPI_Exscan_c(...) STARTED(Iexscan_c, __VA_ARGS__)
#define MPI_Gather_c(...) STARTED(Igather_c, __VA_ARGS__)
#define MPI_Gatherv_c(...) STARTED(Igatherv_c, __VA_ARGS__)
#define MPI_Scatter_c(...) STARTED(Iscatter_c, __VA_ARGS__)
#define MPI_Scatterv_c(...) STARTED(Iscatterv_c, __VA_ARGS__)
#define MPI_Allgather_c(...) STARTED(Iallgather_c, __VA_ARGS__)
#define MPI_Allgatherv_c(...) STARTED(Iallgatherv_c, __VA_ARGS__)
#define MPI_Alltoall_c(...) STARTED(Ialltoall_c, __VA_ARGS__)
#define MPI_Alltoallv_c(...) STARTED(Ialltoallv_c, __VA_ARGS__)
#define MPI_Alltoallw(...) STARTED(Ialltoallw, __VA_ARGS__)
#define MPI_Neighbor_allgather(...) STARTED(Ineighbor_allgather, __VA_ARGS__)
#define MPI_Neighbor_allgatherv(...) STARTED(Ineighbor_allgatherv, __VA_ARGS__)
#define MPI_Neighbor_alltoall(...) STARTED(Ineighbor_alltoall, __VA_ARGS__)
#define MPI_Neighbor_alltoallv(...) STARTED(Ineighbor_alltoallv, __VA_ARGS__)
#define MPI_Neighbor_alltoallw(...) STARTED(Ineighbor_alltoallw, __VA_ARGS__)
#define MPI_Alltoallw_c(...) STARTED(Ialltoallw_c, __VA_ARGS__)
#define MPI_Neighbor_allgather_c(...) STARTED(Ineighbor_allgather_c, __VA_ARGS__)
#define MPI_Neighbor_allgatherv_c(...) STARTED(Ineighbor_allgatherv_c, __VA_ARGS__)
#define MPI_Neighbor_alltoall_c(...) STARTED(Ineighbor_alltoall_c, __VA_ARGS__)
#define MPI_Neighbor_alltoallv_c(...) STARTED(Ineighbor_alltoallv_c, __VA_ARGS__)
#define MPI_Neighbor_alltoallw_c(...) STARTED(Ineighbor_alltoallw_c, __VA_ARGS__)

#endif
