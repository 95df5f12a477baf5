/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool to preload before libcoll, or without it, into programs that do not time themselves: how long their blocking
 * collectives take. At MPI_Finalize rank 0 prints, on standard error,
 *   time {"ranks":2,"total_s":3.1,"compute_s":2.0,"collectives_s":1.1}
 * averages over ranks, from the first collective on. Not for several threads in collectives at once, nor for programs in
 * Fortran under Open MPI, whose calls do not come by here.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static double collectives_s, begun_s;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Defines a collective that is timed: `parameters` are declared, `arguments` forwarded. */
#define TIMED(name, parameters, arguments)  \
  int name parameters {                     \
    static __typeof__(&name) next;          \
    if (next == NULL) next = NEXT(name);    \
    const double before = PMPI_Wtime();     \
    if (begun_s == 0) begun_s = before;     \
    const int result = next arguments;      \
    collectives_s += PMPI_Wtime() - before; \
    return result;                          \
  }

TIMED(MPI_Barrier, (MPI_Comm c), (c))
TIMED(MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
TIMED(MPI_Reduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
      (s, r, n, t, o, root, c))
TIMED(MPI_Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
TIMED(MPI_Reduce_scatter, (const void *s, void *r, const int *n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
      (s, r, n, t, o, c))
TIMED(MPI_Reduce_scatter_block, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
      (s, r, n, t, o, c))
TIMED(MPI_Scan, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
TIMED(MPI_Exscan, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
TIMED(MPI_Gather, (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
      (s, sn, st, r, rn, rt, root, c))
TIMED(MPI_Gatherv,
      (const void *s, int sn, MPI_Datatype st, void *r, const int *rn, const int *d, MPI_Datatype rt, int root,
       MPI_Comm c),
      (s, sn, st, r, rn, d, rt, root, c))
TIMED(MPI_Scatter, (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
      (s, sn, st, r, rn, rt, root, c))
TIMED(MPI_Scatterv,
      (const void *s, const int *sn, const int *d, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root,
       MPI_Comm c),
      (s, sn, d, st, r, rn, rt, root, c))
TIMED(MPI_Allgather, (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
      (s, sn, st, r, rn, rt, c))
TIMED(MPI_Allgatherv,
      (const void *s, int sn, MPI_Datatype st, void *r, const int *rn, const int *d, MPI_Datatype rt, MPI_Comm c),
      (s, sn, st, r, rn, d, rt, c))
TIMED(MPI_Alltoall, (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
      (s, sn, st, r, rn, rt, c))
TIMED(MPI_Alltoallv,
      (const void *s, const int *sn, const int *sd, MPI_Datatype st, void *r, const int *rn, const int *rd,
       MPI_Datatype rt, MPI_Comm c),
      (s, sn, sd, st, r, rn, rd, rt, c))

int MPI_Finalize(void) {
  double mine[2] = {collectives_s, begun_s > 0 ? PMPI_Wtime() - begun_s : 0}, sum[2];
  int rank, ranks;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PMPI_Reduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    fprintf(stderr, "time {\"ranks\":%d,\"total_s\":%.4f,\"compute_s\":%.4f,\"collectives_s\":%.4f}\n", ranks,
            sum[1] / ranks, (sum[1] - sum[0]) / ranks, sum[0] / ranks);
  return NEXT(MPI_Finalize)();
}
