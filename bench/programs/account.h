/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts the time of a rank and prints it as the line that bench/driver/programs.py reads. For programs of one file: it
 * defines what it needs.
 */
#ifndef BENCH_PROGRAMS_ACCOUNT_H
#define BENCH_PROGRAMS_ACCOUNT_H

#include <mpi.h>
#include <stdio.h>

struct clock {
  double collectives, compute; /* seconds */
};

static struct clock mine;
static double since;

static void start_clock(void) { since = MPI_Wtime(); }

/* Adds the time since the last call to `account`. */
static void charge(double *account) {
  double now = MPI_Wtime();
  *account += now - since;
  since = now;
}

/* Returns the sum over all ranks, on rank 0. Collective. */
static struct clock sum_clocks(void) {
  struct clock sum = {0, 0};
  MPI_Reduce(&mine, &sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum;
}

/* The mean of the ranks. */
static void print_clocks(struct clock sum, int ranks) {
  printf("time     {\"ranks\":%d,\"total_s\":%.4f,\"compute_s\":%.4f,\"collectives_s\":%.4f}\n", ranks,
         (sum.compute + sum.collectives) / ranks, sum.compute / ranks, sum.collectives / ranks);
}

#endif
