/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that move blocks, reduce_scatter and scans: each call is made twice, once as MPI_x and once as PMPI_x,
   which the shim does not see, and the whole receive buffers are compared, gaps too. Every rank draws the same random
   numbers for what must agree, and its own for how it describes its data. */
#include "check.h"

static unsigned common_state, own_state;

static int draw(unsigned *state, int below) {
  *state = *state * 1103515245u + 12345u;
  return (int)((*state >> 8) % (unsigned)below);
}
static int common(int below) { return draw(&common_state, below); }
static int own(int below) { return draw(&own_state, below); }

/* ---- datatypes that all hold two integers an element ----------------------------------------------------------------- */

enum { kinds = 6, span = 6 /* the largest extent, in integers */ };
static MPI_Datatype types[kinds];

static void make_types(void) {
  MPI_Datatype part;
  MPI_Type_contiguous(2, MPI_INT, &types[0]);                            /* in order */
  MPI_Type_dup(MPI_2INT, &types[1]);                                     /* in order, another way */
  MPI_Type_vector(2, 1, 2, MPI_INT, &types[2]);                          /* a gap inside, none behind */
  MPI_Type_create_resized(types[0], 0, 4 * sizeof(int), &types[3]);      /* a gap behind */
  MPI_Type_indexed(2, (int[]){1, 1}, (int[]){1, 0}, MPI_INT, &types[4]); /* backwards */
  MPI_Type_create_resized(types[2], 0, span * sizeof(int), &part);       /* both gaps */
  MPI_Type_dup(part, &types[5]);
  MPI_Type_free(&part);
  for (int i = 0; i < kinds; i++) MPI_Type_commit(&types[i]);
}

static void free_types(void) {
  for (int i = 0; i < kinds; i++) MPI_Type_free(&types[i]);
}

/* A datatype of one's own, among those in order only when `plain`. */
static MPI_Datatype any_type(int plain) { return types[own(plain ? 2 : kinds)]; }

/* ---- buffers ------------------------------------------------------------------------------------------------------------ */

static int *send_buffer, *got, *expected;
static size_t room; /* integers in each */

static void fill(void) {
  for (size_t i = 0; i < room; i++) {
    send_buffer[i] = world_rank * 1000003 + (int)i * 7 + 1;
    got[i] = expected[i] = -(world_rank * 1000 + (int)(i % 1000)) - 1;
  }
}

static void compare(const char *what, int round) {
  for (size_t i = 0; i < room; i++)
    CHECK(got[i] == expected[i], "%s, round %d: [%zu] is %d, without the shim %d", what, round, i, got[i], expected[i]);
}

/* Calls `call` with the buffer to receive into, by the shim and without it. */
#define BOTH(what, ...)                             \
  do {                                              \
    fill();                                         \
    int *into = got;                                \
    CHECK(MPI_##__VA_ARGS__ == MPI_SUCCESS, what);  \
    into = expected;                                \
    CHECK(PMPI_##__VA_ARGS__ == MPI_SUCCESS, what); \
    compare(what, round);                           \
  } while (0)

/* ---- one block a rank, all of one length ---------------------------------------------------------------------------------- */

static void check_regular(int round, int count) {
  const int root = common(world_size);
  const int plain = common(3) == 0;
  const MPI_Datatype from = any_type(plain), to = any_type(plain);
  const int is_root = world_rank == root;
  MPI_Comm comm = MPI_COMM_WORLD;
  BOTH("gather", Gather(send_buffer, count, from, into, count, to, root, comm));
  BOTH("gather in place", Gather(is_root ? MPI_IN_PLACE : send_buffer, count, from, into, count, to, root, comm));
  BOTH("scatter", Scatter(send_buffer, count, from, into, count, to, root, comm));
  BOTH("scatter in place", Scatter(send_buffer, count, from, is_root ? MPI_IN_PLACE : into, count, to, root, comm));
  BOTH("allgather", Allgather(send_buffer, count, from, into, count, to, comm));
  BOTH("allgather in place", Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, into, count, to, comm));
  BOTH("alltoall", Alltoall(send_buffer, count, from, into, count, to, comm));
  BOTH("alltoall in place", Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, into, count, to, comm));
}

/* ---- blocks of any length ----------------------------------------------------------------------------------------------------- */

/* Places for the blocks in an order of their own, with gaps. */
static void place(const int *counts, int *displs) {
  int at = 0;
  const int first = own(world_size), step = own(2) ? 1 : world_size - 1;
  for (int i = 0, r = first; i < world_size; i++, r = (r + step) % world_size) {
    displs[r] = at;
    at += counts[r] + own(3);
  }
}

static void check_irregular(int round, int most) {
  const int root = common(world_size);
  const int plain = common(3) == 0;
  const MPI_Datatype from = any_type(plain), to = any_type(plain);
  const int is_root = world_rank == root;
  MPI_Comm comm = MPI_COMM_WORLD;
  int counts[world_size], displs[world_size], to_counts[world_size], to_displs[world_size];
  for (int r = 0; r < world_size; r++) counts[r] = common(4) == 0 ? 0 : common(most + 1);
  const int mine = counts[world_rank];
  place(counts, displs);
  BOTH("gatherv", Gatherv(send_buffer, mine, from, into, counts, displs, to, root, comm));
  BOTH("gatherv in place",
       Gatherv(is_root ? MPI_IN_PLACE : send_buffer, mine, from, into, counts, displs, to, root, comm));
  BOTH("scatterv", Scatterv(send_buffer, counts, displs, from, into, mine, to, root, comm));
  BOTH("scatterv in place",
       Scatterv(send_buffer, counts, displs, from, is_root ? MPI_IN_PLACE : into, mine, to, root, comm));
  BOTH("allgatherv", Allgatherv(send_buffer, mine, from, into, counts, displs, to, comm));
  BOTH("allgatherv in place", Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, into, counts, displs, to, comm));

  /* What rank i sends to rank j: the same number at both. */
  int matrix[world_size][world_size];
  for (int i = 0; i < world_size; i++)
    for (int j = 0; j < world_size; j++) matrix[i][j] = common(4) == 0 ? 0 : common(most + 1);
  for (int r = 0; r < world_size; r++) counts[r] = matrix[world_rank][r], to_counts[r] = matrix[r][world_rank];
  place(counts, displs);
  place(to_counts, to_displs);
  BOTH("alltoallv", Alltoallv(send_buffer, counts, displs, from, into, to_counts, to_displs, to, comm));
  for (int r = 0; r < world_size; r++) counts[r] = r < world_rank ? matrix[r][world_rank] : matrix[world_rank][r];
  place(counts, displs);
  BOTH("alltoallv in place", Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, into, counts, displs, to, comm));
}

/* ---- reductions whose result differs between ranks ------------------------------------------------------------------------------- */

/* in op inout for the maps x -> a x + b, which do not commute. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type) {
  const unsigned *from = in;
  unsigned *to = inout;
  (void)type;
  for (int i = 0; i < *length; i++, from += 2, to += 2) {
    to[1] = to[0] * from[1] + to[1];
    to[0] = to[0] * from[0];
  }
}

static void check_reductions(int round, int most, MPI_Op own_op) {
  const int own_operation = common(2);
  const MPI_Datatype type = own_operation ? types[0] : MPI_INT;
  const MPI_Op op = own_operation ? own_op : common(2) ? MPI_SUM : MPI_MIN;
  const int count = 1 + common(most);
  MPI_Comm comm = MPI_COMM_WORLD;
  int counts[world_size];
  for (int r = 0; r < world_size; r++) counts[r] = common(4) == 0 ? 0 : common(most + 1);
  BOTH("scan", Scan(send_buffer, into, count, type, op, comm));
  BOTH("scan in place", Scan(MPI_IN_PLACE, into, count, type, op, comm));
  BOTH("reduce_scatter_block", Reduce_scatter_block(send_buffer, into, count, type, op, comm));
  BOTH("reduce_scatter", Reduce_scatter(send_buffer, into, counts, type, op, comm));

  /* Outside their results these leave buffers as the library likes: compare those alone. */
  const size_t width = own_operation ? 2 : 1;
  fill();
  MPI_Exscan(send_buffer, got, count, type, op, comm);
  PMPI_Exscan(send_buffer, expected, count, type, op, comm);
  CHECK(world_rank == 0 || memcmp(got, expected, width * (size_t)count * sizeof *got) == 0, "exscan, round %d", round);
  fill();
  MPI_Exscan(MPI_IN_PLACE, got, count, type, op, comm);
  PMPI_Exscan(MPI_IN_PLACE, expected, count, type, op, comm);
  CHECK(world_rank == 0 || memcmp(got, expected, width * (size_t)count * sizeof *got) == 0, "exscan in place");
  fill();
  MPI_Reduce_scatter_block(MPI_IN_PLACE, got, count, type, op, comm);
  PMPI_Reduce_scatter_block(MPI_IN_PLACE, expected, count, type, op, comm);
  CHECK(memcmp(got, expected, width * (size_t)count * sizeof *got) == 0, "reduce_scatter_block in place");
  fill();
  MPI_Reduce_scatter(MPI_IN_PLACE, got, counts, type, op, comm);
  PMPI_Reduce_scatter(MPI_IN_PLACE, expected, counts, type, op, comm);
  CHECK(memcmp(got, expected, width * (size_t)counts[world_rank] * sizeof *got) == 0, "reduce_scatter in place");
}

/* Open MPI lets a program name its own block of the other buffer instead of MPI_IN_PLACE. */
static void check_own_block(void) {
#ifdef OPEN_MPI
  const int round = 0, count = 50;
  MPI_Comm comm = MPI_COMM_WORLD;
  for (int root = 0; root < world_size; root++) {
    const int is_root = world_rank == root;
    BOTH("gather of the own block",
         Gather(is_root ? into + root * count : send_buffer, count, MPI_INT, into, count, MPI_INT, root, comm));
    BOTH("scatter to the own block",
         Scatter(into, count, MPI_INT, is_root ? into + root * count : send_buffer, count, MPI_INT, root, comm));
  }
  BOTH("allgather of the own block", Allgather(into + world_rank * count, count, MPI_INT, into, count, MPI_INT, comm));
#endif
}

int main(int argc, char **argv) {
  MPI_Op own_op;
  start(&argc, &argv);
  const int largest = 3000;
  const char *seed = getenv("COLL_TEST_SEED");
  common_state = seed != NULL ? (unsigned)strtoul(seed, NULL, 0) : 20u;
  own_state = common_state * 31u + (unsigned)world_rank;
  room = (size_t)world_size * (size_t)(largest + 3) * span;
  send_buffer = allocate(room * sizeof(int));
  got = allocate(room * sizeof(int));
  expected = allocate(room * sizeof(int));
  make_types();
  MPI_Op_create(compose, 0, &own_op);
  const int sizes[] = {1, 3, 17, 300, largest};
  for (int round = 0; round < 15; round++) {
    const int size = sizes[round % 5];
    check_regular(round, size);
    check_irregular(round, size);
    check_reductions(round, size, own_op);
  }
  check_own_block();
  fill();
  MPI_Gather(send_buffer, 0, MPI_INT, got, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Alltoall(send_buffer, 0, MPI_INT, got, 0, MPI_INT, MPI_COMM_WORLD);
  MPI_Op_free(&own_op);
  free_types();
  free(send_buffer);
  free(got);
  free(expected);
  return done();
}
