/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that do nothing, of libcoll and of MPI in C and Fortran, to be preloaded behind the shim: what is left of a call is the
   shim's. Everything else, communicators above all, stays as it is. No parameter is looked at, hence none is declared:
   in C a caller may pass more than is taken. */
#define EMPTY(name)      \
  int coll_##name(void); \
  int coll_##name(void) { return 0; }
#define EMPTY_MPI(name) \
  int MPI_##name(void); \
  int MPI_##name(void) { return 0; }
#define EMPTY_FORTRAN(name) \
  void mpi_##name##_(void); \
  void mpi_##name##_(void) {}

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

EMPTY_FORTRAN(barrier)
EMPTY_FORTRAN(bcast)
EMPTY_FORTRAN(reduce)
EMPTY_FORTRAN(allreduce)
EMPTY_FORTRAN(reduce_scatter)
EMPTY_FORTRAN(reduce_scatter_block)
EMPTY_FORTRAN(scan)
EMPTY_FORTRAN(exscan)
EMPTY_FORTRAN(gather)
EMPTY_FORTRAN(gatherv)
EMPTY_FORTRAN(scatter)
EMPTY_FORTRAN(scatterv)
EMPTY_FORTRAN(allgather)
EMPTY_FORTRAN(allgatherv)
EMPTY_FORTRAN(alltoall)
EMPTY_FORTRAN(alltoallv)
