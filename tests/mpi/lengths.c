/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank is wrong about the length of its own blocks, or its root has no buffer: it gets the error, and the other ranks
   right results. Every such call is followed by right ones, in which all ranks must be in step again. */
#include "check.h"

enum { most = 4000 };

static MPI_Comm comm;
static int counts[64], displs[64];

static int *new_block(int first) {
  int *block = allocate(sizeof(int) * most * (size_t)world_size);
  for (int i = 0; i < most * world_size; i++) block[i] = first + i;
  return block;
}

static void expect(const char *what, int code, int expected) {
  int error_class;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == expected, "%s: class %d, not %d", what, error_class, expected);
}

static void right(void) {
  int sum = 0, one = 1, word = world_rank == 1 ? 77 : 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == world_size, "sum %d", sum);
  MPI_Bcast(&word, 1, MPI_INT, 1, comm);
  CHECK(word == 77, "broadcast %d", word);
}

/* `more`: the wrong rank has room for more than it gets, which is no error to it. */
static void check_gather(int count, int root, int more) {
  int *in = new_block(1000 * world_rank), *out = new_block(-1);
  const int is_root = world_rank == root, room = more ? count + 3 : count - 1;
  expect("gather", MPI_Gather(in, count, MPI_INT, out, is_root ? room : count, MPI_INT, root, comm),
         is_root && !more ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  for (int r = 0; r < world_size && is_root; r++)
    for (int i = 0; i < (more ? count : room); i++)
      CHECK(out[r * room + i] == 1000 * r + i, "gather of %d: block %d [%d]", count, r, i);
  right();
  free(in);
  free(out);
}

static void check_scatter(int count, int root, int more) {
  int *in = new_block(0), *out = new_block(-1);
  const int is_root = world_rank == root, room = more ? count + 3 : count - 1;
  expect("scatter", MPI_Scatter(in, count, MPI_INT, out, is_root ? room : count, MPI_INT, root, comm),
         is_root && !more ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  for (int i = 0; i < (is_root && !more ? room : count); i++)
    CHECK(out[i] == world_rank * count + i, "scatter of %d: [%d]", count, i);
  right();
  free(in);
  free(out);
}

static void check_all(int count, int wrong, int more) {
  int *in = new_block(1000 * world_rank), *out = new_block(-1);
  const int is_wrong = world_rank == wrong, sent = !is_wrong ? count : more ? count + 1 : count - 1;
  const int expected = is_wrong && more ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  expect("allgather", MPI_Allgather(in, sent, MPI_INT, out, count, MPI_INT, comm), expected);
  for (int r = 0; r < world_size; r++)
    CHECK(out[r * count] == 1000 * r, "allgather of %d: block %d begins with %d", count, r, out[r * count]);
  right();
  for (int r = 0; r < world_size; r++) counts[r] = count, displs[r] = r * count;
  expect("allgatherv", MPI_Allgatherv(in, sent, MPI_INT, out, counts, displs, MPI_INT, comm), expected);
  right();
  expect("alltoall", MPI_Alltoall(in, sent, MPI_INT, out, count, MPI_INT, comm), expected);
  for (int r = 0; r < world_size; r++) {
    const int stride = r != wrong ? count : more ? count + 1 : count - 1;
    CHECK(out[r * count] == 1000 * r + world_rank * stride, "alltoall of %d: block %d", count, r);
  }
  right();
  free(in);
  free(out);
}

/* The underlying MPI library reports the error; the other ranks complete. */
static void check_no_buffer(int count, int root) {
  int *in = new_block(world_rank), *out = new_block(-1);
  int *to = world_rank == root ? NULL : out, code = MPI_Gather(in, count, MPI_INT, to, count, MPI_INT, root, comm);
  CHECK((code == MPI_SUCCESS) == (world_rank != root), "gather without a buffer: %d", code);
  right();
  code = MPI_Gather(in, count, MPI_INT, out, world_rank == root ? -1 : count, MPI_INT, root, comm);
  CHECK((code == MPI_SUCCESS) == (world_rank != root), "gather with a negative count: %d", code);
  right();
  code = MPI_Reduce(in, world_rank == root ? MPI_IN_PLACE : out, count, MPI_INT, MPI_SUM, root, comm);
  CHECK((code == MPI_SUCCESS) == (world_rank != root), "reduce into MPI_IN_PLACE: %d", code);
  right();
  free(in);
  free(out);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  CHECK(world_size <= 64, "too many ranks");
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  right();
  const int lengths[] = {2, 10, 300, most - 3};
  /* Over several nodes, long alltoalls are forwarded, and the underlying MPI library decides how they end. */
  const size_t used = sizeof lengths / sizeof lengths[0] - (argc > 1 && strcmp(argv[1], "short") == 0);
  for (size_t i = 0; i < used; i++) {
    for (int more = 0; more < 2; more++) {
      check_gather(lengths[i], (int)i % world_size, more);
      check_scatter(lengths[i], (int)i % world_size, more);
      check_all(lengths[i], (int)i % world_size, more);
    }
    check_no_buffer(lengths[i], (int)i % world_size);
  }
  MPI_Comm_free(&comm);
  return done();
}
