/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of MPI 4 with large counts: at some ranks, while the others call those with int, and with displacements that an
   int cannot hold. */
#include "check.h"

#if MPI_VERSION >= 4

enum { most = 3000 };

static int in[64 * most], out[64 * most], counts[64], displs[64];
static MPI_Count large_counts[64];
static MPI_Aint large_displs[64];

static void fill(int count) {
  CHECK(world_size <= 64, "too many ranks");
  for (int r = 0; r < world_size; r++) {
    large_counts[r] = counts[r] = count;
    large_displs[r] = displs[r] = r * count;
    for (int i = 0; i < count; i++) in[r * count + i] = 1000000 * world_rank + r * most + i, out[r * count + i] = -1;
  }
}

static void check_blocks(const char *what, int count, int to_me) {
  for (int r = 0; r < world_size; r++)
    for (int i = 0; i < count; i++) {
      const int expected = 1000000 * r + (to_me ? world_rank * most : 0) + i;
      CHECK(out[r * count + i] == expected, "%s of %d: block %d [%d] is %d", what, count, r, i, out[r * count + i]);
    }
}

/* `c`: this rank calls the form with large counts. */
static void check_all(int count, int root, int c) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Datatype type = MPI_INT;
  const int sum = 1000000 * (world_size * (world_size - 1) / 2), is_root = world_rank == root;
  fill(count);
  if (c) MPI_Bcast_c(in, count, type, root, comm);
  else MPI_Bcast(in, count, type, root, comm);
  CHECK(in[count - 1] == 1000000 * root + count - 1, "bcast");

  fill(count);
  if (c) MPI_Reduce_c(in, out, count, type, MPI_SUM, root, comm);
  else MPI_Reduce(in, out, count, type, MPI_SUM, root, comm);
  CHECK(!is_root || out[1] == sum + world_size, "reduce");
  if (c) MPI_Allreduce_c(in, out, count, type, MPI_SUM, comm);
  else MPI_Allreduce(in, out, count, type, MPI_SUM, comm);
  CHECK(out[1] == sum + world_size, "allreduce");
  if (c) MPI_Reduce_scatter_c(in, out, large_counts, type, MPI_SUM, comm);
  else MPI_Reduce_scatter(in, out, counts, type, MPI_SUM, comm);
  CHECK(out[1] == sum + world_size * (world_rank * most + 1), "reduce_scatter");
  if (c) MPI_Reduce_scatter_block_c(in, out, count, type, MPI_SUM, comm);
  else MPI_Reduce_scatter_block(in, out, count, type, MPI_SUM, comm);
  CHECK(out[1] == sum + world_size * (world_rank * most + 1), "reduce_scatter_block");
  if (c) MPI_Scan_c(in, out, count, type, MPI_SUM, comm);
  else MPI_Scan(in, out, count, type, MPI_SUM, comm);
  CHECK(out[0] == 1000000 * (world_rank * (world_rank + 1) / 2), "scan");
  if (c) MPI_Exscan_c(in, out, count, type, MPI_SUM, comm);
  else MPI_Exscan(in, out, count, type, MPI_SUM, comm);
  CHECK(world_rank == 0 || out[0] == 1000000 * (world_rank * (world_rank - 1) / 2), "exscan");

  fill(count);
  if (c) MPI_Gather_c(in, count, type, out, count, type, root, comm);
  else MPI_Gather(in, count, type, out, count, type, root, comm);
  if (is_root) check_blocks("gather", count, 0);
  fill(count);
  if (c) MPI_Gatherv_c(in, count, type, out, large_counts, large_displs, type, root, comm);
  else MPI_Gatherv(in, count, type, out, counts, displs, type, root, comm);
  if (is_root) check_blocks("gatherv", count, 0);
  fill(count);
  if (c) MPI_Allgather_c(in, count, type, out, count, type, comm);
  else MPI_Allgather(in, count, type, out, count, type, comm);
  check_blocks("allgather", count, 0);
  fill(count);
  if (c) MPI_Allgatherv_c(in, count, type, out, large_counts, large_displs, type, comm);
  else MPI_Allgatherv(in, count, type, out, counts, displs, type, comm);
  check_blocks("allgatherv", count, 0);
  fill(count);
  if (c) MPI_Alltoall_c(in, count, type, out, count, type, comm);
  else MPI_Alltoall(in, count, type, out, count, type, comm);
  check_blocks("alltoall", count, 1);
  fill(count);
  if (c) MPI_Alltoallv_c(in, large_counts, large_displs, type, out, large_counts, large_displs, type, comm);
  else MPI_Alltoallv(in, counts, displs, type, out, counts, displs, type, comm);
  check_blocks("alltoallv", count, 1);
  if (c) MPI_Scatter_c(in, count, type, out, count, type, root, comm);
  else MPI_Scatter(in, count, type, out, count, type, root, comm);
  CHECK(out[count - 1] == 1000000 * root + world_rank * most + count - 1, "scatter: %d", out[count - 1]);
  if (c) MPI_Scatterv_c(in, large_counts, large_displs, type, out, count, type, root, comm);
  else MPI_Scatterv(in, counts, displs, type, out, count, type, root, comm);
  CHECK(out[0] == 1000000 * root + world_rank * most, "scatterv: %d", out[0]);
}

/* Blocks more than 2^31 elements apart, in memory of which little is touched; in order, and with a gap in each element. */
static void check_far(int gap) {
  const MPI_Aint far = ((MPI_Aint)1 << 31) + 4096;
  const size_t bytes = (size_t)far * (gap ? 2 : 1) + 4096;
  char *memory = malloc(bytes);
  if (memory == NULL) return;
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_CHAR, 0, gap ? 2 : 1, &type);
  MPI_Type_commit(&type);
  for (int r = 0; r < world_size; r++) large_counts[r] = 3, large_displs[r] = r == world_size - 1 ? far : 10 * r;
  char mine[3] = {(char)world_rank, (char)(world_rank + 1), (char)(world_rank + 2)};
  if (world_rank == 0) MPI_Gatherv_c(mine, 3, MPI_CHAR, memory, large_counts, large_displs, type, 0, MPI_COMM_WORLD);
  else MPI_Gatherv(mine, 3, MPI_CHAR, NULL, NULL, NULL, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int r = 0; r < world_size && world_rank == 0; r++)
    for (int i = 0; i < 3; i++)
      CHECK(memory[(large_displs[r] + i) * (gap ? 2 : 1)] == r + i, "far gatherv, gap %d: block %d [%d]", gap, r, i);
  memset(mine, -1, sizeof mine);
  if (world_rank == 0) MPI_Scatterv_c(memory, large_counts, large_displs, type, mine, 3, MPI_CHAR, 0, MPI_COMM_WORLD);
  else MPI_Scatterv(NULL, NULL, NULL, MPI_CHAR, mine, 3, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 3; i++) CHECK(mine[i] == world_rank + i, "far scatterv, gap %d: [%d] is %d", gap, i, mine[i]);
  MPI_Type_free(&type);
  free(memory);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD); /* then non-blocking collectives are served from the first one on */
  const int lengths[] = {2, 40, most};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
    for (int one = 0; one <= world_size; one++)
      check_all(lengths[i], (int)i % world_size, one == world_size || one == world_rank);
  check_far(0);
  check_far(1);
  return done();
}

#else

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Finalize();
  if (world_rank == 0) printf("skipped: this MPI library has no large counts\n");
  return 0;
}

#endif
