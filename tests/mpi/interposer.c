/* SPDX-License-Identifier: BSD-3-Clause */
/* Another tool, preloaded before or behind the shim: counts calls and forwards them to the next library. Built twice, with
   TOOL its name. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static long barriers, bcasts, reduces, allreduces;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int MPI_Barrier(MPI_Comm comm) {
  barriers++;
  return NEXT(MPI_Barrier)(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  bcasts++;
  return NEXT(MPI_Bcast)(buffer, count, type, root, comm);
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  reduces++;
  return NEXT(MPI_Reduce)(send, recv, count, type, op, root, comm);
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  allreduces++;
  return NEXT(MPI_Allreduce)(send, recv, count, type, op, comm);
}

int MPI_Finalize(void) {
  char text[256];
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(
      text, sizeof text,
      "%s: rank %d: barrier: %ld\n%s: rank %d: bcast: %ld\n%s: rank %d: reduce: %ld\n%s: rank %d: allreduce: %ld\n",
      TOOL, rank, barriers, TOOL, rank, bcasts, TOOL, rank, reduces, TOOL, rank, allreduces);
  fputs(text, stderr);
  fflush(stderr);
  return NEXT(MPI_Finalize)();
}
