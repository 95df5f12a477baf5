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

/* The last rank exchanges nothing, and has no datatype for it. MPI libraries accept that or return an error at this
   rank, without exchanging anything; its peers must not wait for it. */
static void check_nothing(void) {
  const int last = world_size - 1, has_none = world_rank == last;
  const MPI_Datatype type = has_none ? MPI_DATATYPE_NULL : MPI_INT;
  int counts[64], none[64] = {0}, places[64];
  MPI_Aint bytes[64];
  MPI_Datatype types[64];
  for (int r = 0; r < world_size; r++) counts[r] = r != last, places[r] = r, bytes[r] = 4 * r, types[r] = type;
  const int count = has_none ? 0 : 1, *own_counts = has_none ? none : counts;
  MPI_Comm ring;
  MPI_Request request;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &(int){1}, 0, &ring);
#define CHECK_NOTHING(receives, ...)                                                                      \
  do {                                                                                                    \
    for (int r = 0; r < world_size; r++) mine[r] = 100 * world_rank + r, got[r] = -1;                     \
    const int code = __VA_ARGS__;                                                                         \
    CHECK(code == MPI_SUCCESS, "code %d of " #__VA_ARGS__, code);                                         \
    for (int r = 0; r < world_size; r++) CHECK((got[r] != -1) == (receives), "[%d] of " #__VA_ARGS__, r); \
  } while (0)
#define COMPLETED(call) (call, MPI_Wait(&request, MPI_STATUS_IGNORE))
  const MPI_Comm comm = MPI_COMM_WORLD;
  CHECK_NOTHING(world_rank == 0 && r != last, MPI_Gatherv(mine, count, type, got, counts, places, MPI_INT, 0, comm));
  CHECK_NOTHING(!has_none && r == 0, MPI_Scatterv(mine, counts, places, MPI_INT, got, count, type, 0, comm));
  CHECK_NOTHING(r != last, MPI_Allgatherv(mine, count, type, got, counts, places, MPI_INT, comm));
  CHECK_NOTHING(!has_none && r != last,
                MPI_Alltoallv(mine, own_counts, places, type, got, own_counts, places, type, comm));
  CHECK_NOTHING(0, MPI_Neighbor_alltoall(mine, 0, type, got, 0, type, ring));
  CHECK_NOTHING(0, MPI_Neighbor_alltoallv(mine, none, places, type, got, none, places, type, ring));
  CHECK_NOTHING(0, MPI_Neighbor_alltoallw(mine, none, bytes, types, got, none, bytes, types, ring));
  CHECK_NOTHING(world_rank == 0 && r != last,
                COMPLETED(MPI_Igatherv(mine, count, type, got, counts, places, MPI_INT, 0, comm, &request)));
  CHECK_NOTHING(!has_none && r == 0,
                COMPLETED(MPI_Iscatterv(mine, counts, places, MPI_INT, got, count, type, 0, comm, &request)));
  CHECK_NOTHING(r != last, COMPLETED(MPI_Iallgatherv(mine, count, type, got, counts, places, MPI_INT, comm, &request)));
  CHECK_NOTHING(!has_none && r != last, COMPLETED(MPI_Ialltoallv(mine, own_counts, places, type, got, own_counts,
                                                                 places, type, comm, &request)));
  CHECK_NOTHING(0,
                COMPLETED(MPI_Ineighbor_alltoallw(mine, none, bytes, types, got, none, bytes, types, ring, &request)));
#undef COMPLETED
#undef CHECK_NOTHING
  MPI_Comm_free(&ring);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "nothing") == 0) {
    check_nothing();
    return done();
  }
  check_exscan();
  for (int root = 0; root < world_size; root++) check_rooted(root);
  check_in_place();
  return done();
}
