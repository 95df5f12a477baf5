/* SPDX-License-Identifier: BSD-3-Clause */
/* Like as_nonblocking.h, but with persistent requests: each is created, started, completed, and freed. */
#ifndef TESTS_MPI_AS_PERSISTENT_H
#define TESTS_MPI_AS_PERSISTENT_H

#include "persistent.h"

static inline int complete_persistent(int code, MPI_Request *request) {
  static unsigned calls = 0;
  MPI_Request made = *request, both[2] = {MPI_REQUEST_NULL, made};
  MPI_Status statuses[2];
  int done = 0;
  if (code != MPI_SUCCESS) return code;
  if ((code = calls % 2 == 0 ? MPI_Start(request) : MPI_Startall(1, request)) != MPI_SUCCESS) return code;
  switch (calls++ % 3) {
    case 0: code = MPI_Wait(request, MPI_STATUS_IGNORE); break;
    case 1:
      while (!done && code == MPI_SUCCESS) code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
      break;
    default: code = MPI_Waitall(2, both, statuses);
  }
  if (code == MPI_SUCCESS && (*request != made || both[1] != made)) return MPI_ERR_REQUEST;
  return code == MPI_SUCCESS ? MPI_Request_free(request) : code;
}

#define PERSISTENT(init, ...)                                              \
  __extension__({                                                          \
    MPI_Request made_;                                                     \
    complete_persistent(init(__VA_ARGS__, MPI_INFO_NULL, &made_), &made_); \
  })
#define MPI_Bcast(...) PERSISTENT(INIT(Bcast), __VA_ARGS__)
#define MPI_Reduce(...) PERSISTENT(INIT(Reduce), __VA_ARGS__)
#define MPI_Allreduce(...) PERSISTENT(INIT(Allreduce), __VA_ARGS__)
#define MPI_Reduce_scatter(...) PERSISTENT(INIT(Reduce_scatter), __VA_ARGS__)
#define MPI_Reduce_scatter_block(...) PERSISTENT(INIT(Reduce_scatter_block), __VA_ARGS__)
#define MPI_Scan(...) PERSISTENT(INIT(Scan), __VA_ARGS__)
#define MPI_Exscan(...) PERSISTENT(INIT(Exscan), __VA_ARGS__)
#define MPI_Gather(...) PERSISTENT(INIT(Gather), __VA_ARGS__)
#define MPI_Gatherv(...) PERSISTENT(INIT(Gatherv), __VA_ARGS__)
#define MPI_Scatter(...) PERSISTENT(INIT(Scatter), __VA_ARGS__)
#define MPI_Scatterv(...) PERSISTENT(INIT(Scatterv), __VA_ARGS__)
#define MPI_Allgather(...) PERSISTENT(INIT(Allgather), __VA_ARGS__)
#define MPI_Allgatherv(...) PERSISTENT(INIT(Allgatherv), __VA_ARGS__)
#define MPI_Alltoall(...) PERSISTENT(INIT(Alltoall), __VA_ARGS__)
#define MPI_Alltoallv(...) PERSISTENT(INIT(Alltoallv), __VA_ARGS__)
#define MPI_Alltoallw(...) PERSISTENT(INIT(Alltoallw), __VA_ARGS__)
#define MPI_Neighbor_allgather(...) PERSISTENT(INIT(Neighbor_allgather), __VA_ARGS__)
#define MPI_Neighbor_allgatherv(...) PERSISTENT(INIT(Neighbor_allgatherv), __VA_ARGS__)
#define MPI_Neighbor_alltoall(...) PERSISTENT(INIT(Neighbor_alltoall), __VA_ARGS__)
#define MPI_Neighbor_alltoallv(...) PERSISTENT(INIT(Neighbor_alltoallv), __VA_ARGS__)
#define MPI_Neighbor_alltoallw(...) PERSISTENT(INIT(Neighbor_alltoallw), __VA_ARGS__)

#define MPI_Bcast_c(...) PERSISTENT(MPI_Bcast_init_c, __VA_ARGS__)
#define MPI_Reduce_c(...) PERSISTENT(MPI_Reduce_init_c, __VA_ARGS__)
#define MPI_Allreduce_c(...) PERSISTENT(MPI_Allreduce_init_c, __VA_ARGS__)
#define MPI_Reduce_scatter_c(...) PERSISTENT(MPI_Reduce_scatter_init_c, __VA_ARGS__)
#define MPI_Reduce_scatter_block_c(...) PERSISTENT(MPI_Reduce_scatter_block_init_c, __VA_ARGS__)
#define MPI_Scan_c(...) PERSISTENT(MPI_Scan_init_c, __VA_ARGS__)
#define MPI_Exscan_c(...) PERSISTENT(MPI_Exscan_init_c, __VA_ARGS__)
#define MPI_Gather_c(...) PERSISTENT(MPI_Gather_init_c, __VA_ARGS__)
#define MPI_Gatherv_c(...) PERSISTENT(MPI_Gatherv_init_c, __VA_ARGS__)
#define MPI_Scatter_c(...) PERSISTENT(MPI_Scatter_init_c, __VA_ARGS__)
#define MPI_Scatterv_c(...) PERSISTENT(MPI_Scatterv_init_c, __VA_ARGS__)
#define MPI_Allgather_c(...) PERSISTENT(MPI_Allgather_init_c, __VA_ARGS__)
#define MPI_Allgatherv_c(...) PERSISTENT(MPI_Allgatherv_init_c, __VA_ARGS__)
#define MPI_Alltoall_c(...) PERSISTENT(MPI_Alltoall_init_c, __VA_ARGS__)
#define MPI_Alltoallv_c(...) PERSISTENT(MPI_Alltoallv_init_c, __VA_ARGS__)
#define MPI_Alltoallw_c(...) PERSISTENT(MPI_Alltoallw_init_c, __VA_ARGS__)
#define MPI_Neighbor_allgather_c(...) PERSISTENT(MPI_Neighbor_allgather_init_c, __VA_ARGS__)
#define MPI_Neighbor_allgatherv_c(...) PERSISTENT(MPI_Neighbor_allgatherv_init_c, __VA_ARGS__)
#define MPI_Neighbor_alltoall_c(...) PERSISTENT(MPI_Neighbor_alltoall_init_c, __VA_ARGS__)
#define MPI_Neighbor_alltoallv_c(...) PERSISTENT(MPI_Neighbor_alltoallv_init_c, __VA_ARGS__)
#define MPI_Neighbor_alltoallw_c(...) PERSISTENT(MPI_Neighbor_alltoallw_init_c, __VA_ARGS__)

#endif
