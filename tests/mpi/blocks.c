/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective, mainly those with blocks: each call is made twice, once as MPI_x and once as PMPI_x, which the shim does
   not see, and the whole receive buffers are compared, gaps too. Every rank draws the same random numbers for what must
   agree, and its own for how it describes its data. On MPI_COMM_WORLD, and on communicators whose ranks are in another
   order: with COLL_NODE_SIZE nodes have unequally many ranks, and not adjacent ones. */
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
  MPI_Type_dup(MPI_2INT, &types[1]);                                     /* in order, constructed differently */
  MPI_Type_vector(2, 1, 2, MPI_INT, &types[2]);                          /* a gap inside */
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

/* Returns a random datatype, in order if `plain`. */
static MPI_Datatype any_type(int plain) { return types[own(plain ? 2 : kinds)]; }

/* ---- the current communicator -------------------------------------------------------------------------------------------- */

static MPI_Comm comm;
static int rank, size;

/* ---- buffers ------------------------------------------------------------------------------------------------------------ */

static int *send_buffer, *got, *expected;
static size_t room; /* integers in each */

static void fill(void) {
  for (size_t i = 0; i < room; i++) {
    send_buffer[i] = rank * 1000003 + (int)i * 7 + 1;
    got[i] = expected[i] = -(rank * 1000 + (int)(i % 1000)) - 1;
  }
}

static void compare(const char *what, int round) {
  for (size_t i = 0; i < room; i++)
    CHECK(got[i] == expected[i], "%s, round %d: [%zu] is %d, without the shim %d", what, round, i, got[i], expected[i]);
}

/* Calls `call` twice, with the receive buffer for the shim and with that for MPI. */
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
  const int root = common(size);
  const int plain = common(3) == 0;
  const MPI_Datatype from = any_type(plain), to = any_type(plain);
  const int is_root = rank == root;
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

/* Displacements of the blocks in a random order, with gaps. */
static void place(const int *counts, int *displs) {
  int at = 0;
  const int first = own(size), step = own(2) ? 1 : size - 1;
  for (int i = 0, r = first; i < size; i++, r = (r + step) % size) {
    displs[r] = at;
    at += counts[r] + own(3);
  }
}

static void check_irregular(int round, int most) {
  const int root = common(size);
  const int plain = common(3) == 0;
  const MPI_Datatype from = any_type(plain), to = any_type(plain);
  const int is_root = rank == root;
  int counts[size], displs[size], to_counts[size], to_displs[size];
  for (int r = 0; r < size; r++) counts[r] = common(4) == 0 ? 0 : common(most + 1);
  const int mine = counts[rank];
  place(counts, displs);
  BOTH("gatherv", Gatherv(send_buffer, mine, from, into, counts, displs, to, root, comm));
  BOTH("gatherv in place",
       Gatherv(is_root ? MPI_IN_PLACE : send_buffer, mine, from, into, counts, displs, to, root, comm));
  BOTH("scatterv", Scatterv(send_buffer, counts, displs, from, into, mine, to, root, comm));
  BOTH("scatterv in place",
       Scatterv(send_buffer, counts, displs, from, is_root ? MPI_IN_PLACE : into, mine, to, root, comm));
  /* One datatype for all ranks: MPICH's own ring cuts long blocks by the extent of the rank's datatype, and ranks whose
     extents differ then expect messages of other lengths ("Message truncated"). */
  const MPI_Datatype to_all = types[common(plain ? 2 : kinds)];
  BOTH("allgatherv", Allgatherv(send_buffer, mine, from, into, counts, displs, to_all, comm));
  BOTH("allgatherv in place", Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, into, counts, displs, to_all, comm));

  /* The number of elements that rank i sends to rank j; both ranks have the same number. */
  int matrix[size][size];
  for (int i = 0; i < size; i++)
    for (int j = 0; j < size; j++) matrix[i][j] = common(4) == 0 ? 0 : common(most + 1);
  for (int r = 0; r < size; r++) counts[r] = matrix[rank][r], to_counts[r] = matrix[r][rank];
  place(counts, displs);
  place(to_counts, to_displs);
  BOTH("alltoallv", Alltoallv(send_buffer, counts, displs, from, into, to_counts, to_displs, to, comm));
  for (int r = 0; r < size; r++) counts[r] = r < rank ? matrix[r][rank] : matrix[rank][r];
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
  const int count = 1 + common(most), root = common(size), is_root = rank == root;
  int counts[size];
  for (int r = 0; r < size; r++) counts[r] = common(4) == 0 ? 0 : common(most + 1);
  BOTH("allreduce", Allreduce(send_buffer, into, count, type, op, comm));
  BOTH("allreduce in place", Allreduce(MPI_IN_PLACE, into, count, type, op, comm));
  BOTH("scan", Scan(send_buffer, into, count, type, op, comm));
  BOTH("scan in place", Scan(MPI_IN_PLACE, into, count, type, op, comm));
  BOTH("reduce_scatter_block", Reduce_scatter_block(send_buffer, into, count, type, op, comm));
  BOTH("reduce_scatter", Reduce_scatter(send_buffer, into, counts, type, op, comm));

  /* The library may change the buffers of these outside their results: compare the results only. */
  const size_t width = own_operation ? 2 : 1;
  fill();
  MPI_Reduce(send_buffer, got, count, type, op, root, comm);
  PMPI_Reduce(send_buffer, expected, count, type, op, root, comm);
  CHECK(!is_root || memcmp(got, expected, width * (size_t)count * sizeof *got) == 0, "reduce, round %d", round);
  /* Of two ranks, MPICH 4.0 itself reads from the address MPI_IN_PLACE. */
  if (size > 2) {
    fill();
    memcpy(got, send_buffer, width * (size_t)count * sizeof *got);
    MPI_Reduce(is_root ? MPI_IN_PLACE : got, is_root ? got : NULL, count, type, op, root, comm);
    PMPI_Reduce(send_buffer, expected, count, type, op, root, comm);
    CHECK(!is_root || memcmp(got, expected, width * (size_t)count * sizeof *got) == 0, "reduce in place");
  }
  fill();
  MPI_Exscan(send_buffer, got, count, type, op, comm);
  PMPI_Exscan(send_buffer, expected, count, type, op, comm);
  CHECK(rank == 0 || memcmp(got, expected, width * (size_t)count * sizeof *got) == 0, "exscan, round %d", round);
  fill();
  MPI_Exscan(MPI_IN_PLACE, got, count, type, op, comm);
  PMPI_Exscan(MPI_IN_PLACE, expected, count, type, op, comm);
  CHECK(rank == 0 || memcmp(got, expected, width * (size_t)count * sizeof *got) == 0, "exscan in place");
  fill();
  MPI_Reduce_scatter_block(MPI_IN_PLACE, got, count, type, op, comm);
  PMPI_Reduce_scatter_block(MPI_IN_PLACE, expected, count, type, op, comm);
  CHECK(memcmp(got, expected, width * (size_t)count * sizeof *got) == 0, "reduce_scatter_block in place");
  fill();
  MPI_Reduce_scatter(MPI_IN_PLACE, got, counts, type, op, comm);
  PMPI_Reduce_scatter(MPI_IN_PLACE, expected, counts, type, op, comm);
  CHECK(memcmp(got, expected, width * (size_t)counts[rank] * sizeof *got) == 0, "reduce_scatter in place");
}

/* Open MPI lets a program name its own block of the other buffer instead of MPI_IN_PLACE. */
static void check_own_block(void) {
#ifdef OPEN_MPI
  const int round = 0, count = 50;
  for (int root = 0; root < size; root++) {
    const int is_root = rank == root;
    BOTH("gather of the own block",
         Gather(is_root ? into + root * count : send_buffer, count, MPI_INT, into, count, MPI_INT, root, comm));
    BOTH("scatter to the own block",
         Scatter(into, count, MPI_INT, is_root ? into + root * count : send_buffer, count, MPI_INT, root, comm));
  }
  BOTH("allgather of the own block", Allgather(into + rank * count, count, MPI_INT, into, count, MPI_INT, comm));
#endif
}

/* ---- one message for all ------------------------------------------------------------------------------------------------------- */

static void check_bcast(int round, int count, int plain) {
  const int root = common(size);
  const MPI_Datatype type = any_type(plain);
  MPI_Barrier(comm);
  fill();
  if (rank == root) memcpy(got, send_buffer, room * sizeof *got), memcpy(expected, send_buffer, room * sizeof *got);
  MPI_Bcast(got, count, type, root, comm);
  PMPI_Bcast(expected, count, type, root, comm);
  compare("bcast", round);
}

/* Sums that depend on the order of their operands: the same bits at every rank, and in every run. */
static void check_deterministic(int count) {
  double *mine = allocate((size_t)count * sizeof *mine), *sum = allocate((size_t)count * sizeof *sum);
  double *again = allocate((size_t)count * sizeof *again);
  for (int i = 0; i < count; i++) mine[i] = 1.0 / (1 + i % 1000 + 7 * rank) - 0.1 * rank;
  MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < 3; i++) {
    MPI_Allreduce(mine, again, count, MPI_DOUBLE, MPI_SUM, comm);
    CHECK(memcmp(sum, again, (size_t)count * sizeof *sum) == 0, "%d sums differ from run to run", count);
  }
  memcpy(again, sum, (size_t)count * sizeof *sum);
  PMPI_Bcast(again, count, MPI_DOUBLE, 0, comm);
  CHECK(memcmp(sum, again, (size_t)count * sizeof *sum) == 0, "%d sums differ from those of rank 0", count);
  free(mine);
  free(sum);
  free(again);
}

/* ---- all of it on one communicator ----------------------------------------------------------------------------------------------- */

enum { largest = 3000, long_count = 45000 };

/* No element on any rank, on a new communicator, too: such a call has no memory. */
static void check_empty(void) {
  const int round = -1;
  int counts[size];
  memset(counts, 0, sizeof counts);
  room = (size_t)size * 3 * span;
  check_regular(round, 0);
  check_irregular(round, 0);
  BOTH("an empty reduce_scatter", Reduce_scatter(send_buffer, into, counts, MPI_INT, MPI_SUM, comm));
  BOTH("an empty allreduce", Allreduce(send_buffer, into, 0, MPI_INT, MPI_SUM, comm));
  BOTH("an empty scan", Scan(send_buffer, into, 0, MPI_INT, MPI_SUM, comm));
}

static void check_all(unsigned seed, int rounds, MPI_Op own_op) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  common_state = seed;
  own_state = seed * 31u + (unsigned)rank;
  MPI_Barrier(comm);
  check_empty();
  const int sizes[] = {1, 3, 17, 300, largest};
  for (int round = 0; round < rounds; round++) {
    const int most = sizes[(round + 4) % 5];
    room = (size_t)size * (size_t)(most + 3) * span;
    check_bcast(round, most, 0);
    check_regular(round, most);
    check_irregular(round, most);
    check_reductions(round, most, own_op);
    check_deterministic(most);
  }
  check_own_block();
}

/* Messages of data in order that are sent in several parts. */
static void check_long(MPI_Op own_op) {
  const int root = size - 1, is_root = rank == root, round = 0, count = long_count;
  const MPI_Datatype type = types[0];
  room = 2 * (size_t)size * long_count;
  int counts[size], displs[size];
  for (int r = 0; r < size; r++) counts[r] = r % 3 == 1 ? 5 : long_count - r, displs[r] = r * long_count;
  BOTH("a long gather", Gather(is_root ? MPI_IN_PLACE : send_buffer, count, type, into, count, type, root, comm));
  BOTH("a long scatter", Scatter(send_buffer, count, type, is_root ? MPI_IN_PLACE : into, count, type, root, comm));
  BOTH("a long gatherv", Gatherv(send_buffer, counts[rank], type, into, counts, displs, type, root, comm));
  BOTH("a long scatterv", Scatterv(send_buffer, counts, displs, type, into, counts[rank], type, root, comm));
  BOTH("a long allgather", Allgather(send_buffer, count, type, into, count, type, comm));
  BOTH("a long allgatherv", Allgatherv(MPI_IN_PLACE, 0, type, into, counts, displs, type, comm));
  BOTH("a long allreduce", Allreduce(send_buffer, into, size * count, MPI_INT, MPI_SUM, comm));
  BOTH("a long allreduce in place", Allreduce(MPI_IN_PLACE, into, size * count, MPI_INT, MPI_SUM, comm));
  BOTH("a long allreduce in order", Allreduce(send_buffer, into, count, type, own_op, comm));
  BOTH("a long scan", Scan(send_buffer, into, 2 * count, MPI_INT, MPI_SUM, comm));
  BOTH("a long scan in order", Scan(MPI_IN_PLACE, into, count, type, own_op, comm));
  BOTH("a long reduce_scatter", Reduce_scatter(send_buffer, into, counts, MPI_INT, MPI_SUM, comm));
  BOTH("a long reduce_scatter_block", Reduce_scatter_block(send_buffer, into, count, MPI_INT, MPI_SUM, comm));
  fill();
  MPI_Reduce(send_buffer, got, size * count, MPI_INT, MPI_SUM, root, comm);
  PMPI_Reduce(send_buffer, expected, size * count, MPI_INT, MPI_SUM, root, comm);
  CHECK(!is_root || memcmp(got, expected, (size_t)size * (size_t)count * sizeof *got) == 0, "a long reduce");
  check_bcast(0, size * count, 1);
  check_deterministic(size * count);
}

/* Reductions that several leaders make in several parts. */
static void check_very_long(void) {
  const int count = 2500001, root = world_size - 1;
  int *mine = allocate((size_t)count * sizeof *mine), *sum = allocate((size_t)count * sizeof *sum);
  for (int i = 0; i < count; i++) mine[i] = sum[i] = i % 1009 + world_rank;
  const int ranks = world_size * (world_size - 1) / 2;
  MPI_Allreduce(MPI_IN_PLACE, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++)
    CHECK(sum[i] == world_size * (i % 1009) + ranks, "a very long allreduce: [%d] is %d", i, sum[i]);
  memset(sum, 0, (size_t)count * sizeof *sum);
  MPI_Reduce(mine, sum, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  for (int i = 0; i < count && world_rank == root; i++)
    CHECK(sum[i] == world_size * (i % 1009) + ranks, "a very long reduce: [%d] is %d", i, sum[i]);
  free(mine);
  free(sum);
}

int main(int argc, char **argv) {
  MPI_Op own_op;
  start(&argc, &argv);
  const unsigned seed = test_seed();
  const size_t most =
      (size_t)world_size * (2 * long_count > (largest + 3) * span ? 2 * long_count : (largest + 3) * span);
  send_buffer = allocate(most * sizeof(int));
  got = allocate(most * sizeof(int));
  expected = allocate(most * sizeof(int));
  make_types();
  MPI_Op_create(compose, 0, &own_op);

  /* MPICH's ranks spin while others need their core, so that a call of its own takes milliseconds. */
#ifdef OPEN_MPI
  const int rounds = emulated() ? 1 : 10, rounds_elsewhere = emulated() ? 0 : 5;
#else
  const int rounds = world_size > 4 ? 3 : 5, rounds_elsewhere = world_size > 4 ? 1 : 2;
#endif
  comm = MPI_COMM_WORLD;
  check_all(seed, rounds, own_op);
  check_long(own_op);
  if (!emulated()) check_very_long();
  fill();
  MPI_Gather(send_buffer, 0, MPI_INT, got, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Alltoall(send_buffer, 0, MPI_INT, got, 0, MPI_INT, MPI_COMM_WORLD);
  if (world_size > 2) {
    /* Even ranks first, then reversed; then the same without one of them. */
    const int key = world_rank % 2 == 0 ? world_rank : 2 * world_size - world_rank;
    MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comm);
    check_all(seed + 1, rounds_elsewhere, own_op);
    if (rounds_elsewhere > 2) check_long(own_op);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 1 ? MPI_UNDEFINED : 0, key, &comm);
    if (comm != MPI_COMM_NULL) {
      check_all(seed + 2, rounds_elsewhere, own_op);
      MPI_Comm_free(&comm);
    }
  }
  MPI_Op_free(&own_op);
  free_types();
  free(send_buffer);
  free(got);
  free(expected);
  return done();
}
