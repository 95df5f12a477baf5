/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of communicators: the shim creates its state of one at the first collective. Prints a JSON line of microseconds,
   the slowest rank's medians: "made", MPI_Comm_dup and one MPI_Allreduce while all others exist; "short_lived", the same
   and MPI_Comm_free, one after the other. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 200 };

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double slowest_median(double us[most]) {
  double slowest;
  qsort(us, most, sizeof us[0], ascending);
  MPI_Reduce(&us[most / 2], &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest;
}

/* Time until the first collective of a duplicate has finished. */
static double use_duplicate(MPI_Comm *made) {
  int mine = 1, sum = 0;
  PMPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  MPI_Comm_dup(MPI_COMM_WORLD, made);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, *made);
  return start;
}

int main(int argc, char **argv) {
  double us[most];
  int rank, value = 0;
  MPI_Comm made[most];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < most; i++) {
    const double start = use_duplicate(&made[i]);
    us[i] = 1e6 * (MPI_Wtime() - start);
  }
  const double of_made = slowest_median(us);
  for (int i = 0; i < most; i++) MPI_Comm_free(&made[i]);
  for (int i = 0; i < most; i++) {
    const double start = use_duplicate(&made[0]);
    MPI_Comm_free(&made[0]);
    us[i] = 1e6 * (MPI_Wtime() - start);
  }
  const double of_short_lived = slowest_median(us);
  if (rank == 0) printf("{\"made\": %.1f, \"short_lived\": %.1f}\n", of_made, of_short_lived);
  MPI_Finalize();
  return 0;
}
