/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of libcoll: adds over all ranks. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rank += 1;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("the sum is %d\n", sum);
  return MPI_Finalize();
}
