/* SPDX-License-Identifier: BSD-3-Clause */
/* What a new communicator costs until its first collective is over: that is when the shim makes what it keeps of one.
   Prints a JSON line: microseconds of MPI_Comm_dup and one MPI_Bcast, the slowest rank's median. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 200 };

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  double us[most], slowest;
  int rank, value = 0;
  MPI_Comm made[most];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < most; i++) {
    PMPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
    MPI_Bcast(&value, 1, MPI_INT, 0, made[i]);
    us[i] = 1e6 * (MPI_Wtime() - start);
    if (i >= 10) MPI_Comm_free(&made[i - 10]);
  }
  qsort(us, most, sizeof us[0], ascending);
  MPI_Reduce(&us[most / 2], &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("{\"communicator_us\": %.1f}\n", slowest);
  MPI_Finalize();
  return 0;
}
