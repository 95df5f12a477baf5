/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that do nothing, of libcoll and of MPI, to be preloaded behind the shim: what is left of a call is the
   shim's. Everything else, communicators above all, stays as it is. No parameter is looked at, hence none is declared:
   in C a caller may pass more than is taken. */
#define EMPTY(name)      \
  int coll_##name(void); \
  int coll_##name(void) { return 0; }
#define EMPTY_MPI(name) \
  int MPI_##name(void); \
  int MPI_##name(void) { return 0; }

EMPTY(barrier)
EMPTY(bcast)
EMPTY(reduce)
EMPTY(allreduce)
EMPTY(reduce_scatter)
EMPTY(reduce_scatter_block)
EMPTY(scan)
EMPTY(exscan)
EMPTY(gather)
EMPTY(gatherv)
EMPTY(scatter)
EMPTY(scatterv)
EMPTY(allgather)
EMPTY(allgatherv)
EMPTY(alltoall)
EMPTY(alltoallv)

EMPTY_MPI(Barrier)
EMPTY_MPI(Bcast)
EMPTY_MPI(Reduce)
EMPTY_MPI(Allreduce)
EMPTY_MPI(Reduce_scatter)
EMPTY_MPI(Reduce_scatter_block)
EMPTY_MPI(Scan)
EMPTY_MPI(Exscan)
EMPTY_MPI(Gather)
EMPTY_MPI(Gatherv)
EMPTY_MPI(Scatter)
EMPTY_MPI(Scatterv)
EMPTY_MPI(Allgather)
EMPTY_MPI(Allgatherv)
EMPTY_MPI(Alltoall)
EMPTY_MPI(Alltoallv)
