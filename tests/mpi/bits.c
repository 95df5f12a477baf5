/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of floats have the bits of libcoll's definition on one node: fold(0, p), of scans its prefixes. */
#include <math.h>

#include "check.h"

/* Values of very different size, so that every other order of addition gives other bits. */
static float value(int rank, int i) {
  const unsigned mixed = (unsigned)(rank + 1) * 2654435761u + (unsigned)i * 40503u + test_seed();
  return ldexpf((float)(mixed % 4001) - 2000, (int)(mixed / 4001 % 60) - 30);
}

static float fold(int first, int last, int i) {
  if (last - first == 1) return value(first, i);
  int left = 1;
  while (2 * left < last - first) left *= 2;
  return fold(first, first + left, i) + fold(first + left, last, i);
}

static void check(const char *what, const float *got, int count, int folded, int first) {
  for (int i = 0; i < count; i++) {
    const float expected = fold(0, folded, first + i);
    CHECK(memcmp(&got[i], &expected, sizeof expected) == 0, "%s of %d floats: [%d] is %a, not %a", what, count, i,
          (double)got[i], (double)expected);
  }
}

static void fill(float *vector, int count) {
  for (int i = 0; i < count; i++) vector[i] = value(world_rank, i);
}

static void check_all(int count) {
  const int all = count * world_size, root = world_size / 2;
  float *mine = allocate((size_t)all * sizeof *mine), *got = allocate((size_t)all * sizeof *got);
  fill(mine, all);
  MPI_Allreduce(mine, got, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  check("allreduce", got, count, world_size, 0);
  fill(got, count);
  MPI_Allreduce(MPI_IN_PLACE, got, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  check("allreduce in place", got, count, world_size, 0);
  MPI_Reduce(mine, got, count, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
  if (world_rank == root) check("reduce", got, count, world_size, 0);
  MPI_Reduce_scatter_block(mine, got, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  check("reduce_scatter_block", got, count, world_size, world_rank * count);
  MPI_Scan(mine, got, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  check("scan", got, count, world_rank + 1, 0);
  MPI_Exscan(mine, got, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank > 0) check("exscan", got, count, world_rank, 0);
  free(mine);
  free(got);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const int counts[] = {1, 2, 7, 100, 1000, 5000, 40001};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) check_all(counts[c]);
  return done();
}
