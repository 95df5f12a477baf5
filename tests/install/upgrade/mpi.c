/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi FILE: adds over all ranks until FILE exists; checks every sum. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 1);
  long rounds = 0;
  for (int ended = 0; !ended; rounds++) {
    const long mine[2] = {rounds + rank, rank == 0 && access(argv[1], F_OK) == 0};
    long sum[2];
    MPI_Allreduce(mine, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (sum[0] != ranks * rounds + (long)ranks * (ranks - 1) / 2) {
      fprintf(stderr, "rank %d: round %ld: the sum is %ld\n", rank, rounds, sum[0]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rounds == 0) fprintf(stderr, "rank %d runs, process %d\n", rank, (int)getpid());
    ended = sum[1] != 0;
    usleep(1000);
  }
  printf("rank %d: %ld sums\n", rank, rounds);
  return MPI_Finalize();
}
