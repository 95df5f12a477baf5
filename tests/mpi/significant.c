/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that MPI calls "not significant" on a rank have any value there: all ranks must still decide alike. */
#include "check.h"

enum { most = 20000 };

static int mine[most], got[most];

static void check_exscan(void) {
  const int counts[] = {1, 2, 300, most};
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    const int count = counts[c];
    for (int i = 0; i < count; i++) mine[i] = world_rank + 1 + i, got[i] = -1;
    MPI_Exscan(mine, world_rank == 0 ? NULL : got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count && world_rank > 0; i++)
      CHECK(got[i] == world_rank * (world_rank + 1) / 2 + world_rank * i, "exscan of %d: [%d] is %d", count, i, got[i]);
    for (int i = 0; i < count; i++) got[i] = mine[i];
    MPI_Exscan(MPI_IN_PLACE, got, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count && world_rank > 0; i++)
      CHECK(got[i] == world_rank * (world_rank + 1) / 2 + world_rank * i, "in place, %d: [%d] is %d", count, i, got[i]);
  }
}

/* Only the root has the second buffer, its counts and its datatype. */
static void check_rooted(int root) {
  const int is_root = world_rank == root;
  const int no_count = -world_rank - 3, count = is_root ? 2 : no_count;
  const MPI_Datatype type = is_root ? MPI_INT : MPI_DATATYPE_NULL;
  int *all = is_root ? got : NULL;
  int counts[64], displs[64];
  CHECK(world_size <= 64, "too many ranks");
  for (int r = 0; r < world_size; r++) counts[r] = 2, displs[r] = 2 * r;
  for (int i = 0; i < 2 * world_size; i++) got[i] = -1;
  mine[0] = 10 * world_rank, mine[1] = 10 * world_rank + 1;

  MPI_Gather(mine, 2, MPI_INT, all, count, type, root, MPI_COMM_WORLD);
  for (int i = 0; i < 2 * world_size && is_root; i++) CHECK(got[i] == 10 * (i / 2) + i % 2, "gather: [%d]", i);
  MPI_Gatherv(mine, 2, MPI_INT, all, is_root ? counts : NULL, is_root ? displs : NULL, type, root, MPI_COMM_WORLD);
  for (int i = 0; i < 2 * world_size && is_root; i++) CHECK(got[i] == 10 * (i / 2) + i % 2, "gatherv: [%d]", i);

  MPI_Scatter(all, count, type, mine, 2, MPI_INT, root, MPI_COMM_WORLD);
  CHECK(mine[0] == 10 * world_rank && mine[1] == mine[0] + 1, "scatter: %d %d", mine[0], mine[1]);
  MPI_Scatterv(all, is_root ? counts : NULL, is_root ? displs : NULL, type, mine, 2, MPI_INT, root, MPI_COMM_WORLD);
  CHECK(mine[0] == 10 * world_rank && mine[1] == mine[0] + 1, "scatterv: %d %d", mine[0], mine[1]);

  MPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  const int sum = 10 * world_size * (world_size - 1) / 2;
  CHECK(!is_root || (got[0] == sum && got[1] == sum + world_size), "reduce: %d %d", got[0], got[1]);
}

/* In place, only the receive side counts. */
static void check_in_place(void) {
  for (int r = 0; r < world_size; r++) got[r] = r == world_rank ? 7 * r : -1;
  MPI_Allgather(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, got, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < world_size; r++) CHECK(got[r] == 7 * r, "allgather: [%d] is %d", r, got[r]);
  for (int r = 0; r < world_size; r++) got[r] = 100 * world_rank + r;
  MPI_Alltoall(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, got, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < world_size; r++) CHECK(got[r] == 100 * r + world_rank, "alltoall: [%d] is %d", r, got[r]);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  check_exscan();
  for (int root = 0; root < world_size; root++) check_rooted(root);
  check_in_place();
  return done();
}
