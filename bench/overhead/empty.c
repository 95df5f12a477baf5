/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that do nothing, of libcoll and of MPI in C and Fortran, to be preloaded behind the shim: what is left of a
   call is the time of the shim. Everything else, such as communicators, stays as it is. No parameter is used, hence none is
   declared: in C a caller may pass more arguments than the callee reads. */
#define EMPTY(name, c)                \
  int coll_##name(void);              \
  int coll_##name(void) { return 0; } \
  int MPI_##c(void);                  \
  int MPI_##c(void) { return 0; }     \
  void mpi_##name##_(void);           \
  void mpi_##name##_(void) {}

EMPTY(barrier, Barrier)
EMPTY(bcast, Bcast)
EMPTY(reduce, Reduce)
EMPTY(allreduce, Allreduce)
EMPTY(reduce_scatter, Reduce_scatter)
EMPTY(reduce_scatter_block, Reduce_scatter_block)
EMPTY(scan, Scan)
EMPTY(exscan, Exscan)
EMPTY(gather, Gather)
EMPTY(gatherv, Gatherv)
EMPTY(scatter, Scatter)
EMPTY(scatterv, Scatterv)
EMPTY(allgather, Allgather)
EMPTY(allgatherv, Allgatherv)
EMPTY(alltoall, Alltoall)
EMPTY(alltoallv, Alltoallv)
