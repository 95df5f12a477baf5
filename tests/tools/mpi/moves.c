// SPDX-License-Identifier: BSD-3-Clause
// A small MPI program: collectives of three sizes, with results that are known. Prints the size before each broadcast.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { largest = 1 << 17 };
static int in[2 * largest], out[4 * largest];
static int rank, ranks, wrong;

static void expect(const char *what, int is, int shall) {
  if (is == shall) return;
  printf("%s of rank %d is %d instead of %d\n", what, rank, is, shall);
  wrong = 1;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int counts[] = {64, 8192, largest};
  int sum = 0;
  for (int r = 0; r < ranks; r++) sum += r + 1;
  for (int i = 0; i < 3; i++) {
    const int n = counts[i], part = n / ranks;
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("bytes %d\n", 4 * n), fflush(stdout);
    for (int k = 0; k < n; k++) in[k] = rank + 1;
    MPI_Bcast(in, n, MPI_INT, 0, MPI_COMM_WORLD);
    expect("bcast", in[n - 1], 1);
    for (int k = 0; k < n; k++) in[k] = rank + 1;
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("allreduce", out[n - 1], sum);
    MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) expect("reduce", out[n - 1], sum);
    MPI_Allgather(in, part, MPI_INT, out, part, MPI_INT, MPI_COMM_WORLD);
    expect("allgather", out[ranks * part - 1], ranks);
    MPI_Alltoall(in, part, MPI_INT, out, part, MPI_INT, MPI_COMM_WORLD);
    expect("alltoall", out[ranks * part - 1], ranks);
    MPI_Gather(in, part, MPI_INT, out, part, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) expect("gather", out[ranks * part - 1], ranks);
    MPI_Scatter(in, part, MPI_INT, out, part, MPI_INT, 0, MPI_COMM_WORLD);
    expect("scatter", out[part - 1], 1);
    MPI_Reduce_scatter_block(in, out, part, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("reduce_scatter_block", out[part - 1], sum);
    MPI_Scan(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("scan", out[n - 1], (rank + 1) * (rank + 2) / 2);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) puts(wrong ? "WRONG" : "all right");
  MPI_Finalize();
  return wrong;
}
