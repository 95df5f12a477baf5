/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes whose copy and delete callbacks use collectives on the communicator that is duplicated or freed, set before
   or after its first collective. The next communicator, which may have the same handle, must not be affected by it. */
#include "check.h"

enum { copy_uses = 1, delete_uses = 2, set_first = 4, duplicated = 8, disconnected = 16, all_modes = 32 };

static int mode, called;

/* Compares with the expected values, and with the call without the shim. */
static void use(MPI_Comm comm, const char *what) {
  int rank, size, sum = -1, all = -1, word;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int mine = 1 << world_rank;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_BOR, comm);
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_BOR, comm);
  CHECK(sum == all, "mode %d, %s: ranks %#x, not %#x", mode, what, sum, all);
  word = rank == size - 1 ? world_rank : -1;
  MPI_Bcast(&word, 1, MPI_INT, size - 1, comm);
  CHECK(word >= 0 && (all & 1 << word) != 0, "mode %d, %s: broadcast of %d", mode, what, word);
  MPI_Barrier(comm);
}

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag) {
  (void)key, (void)extra;
  if ((mode & copy_uses) != 0) use(comm, "in the copy callback");
  *(void **)copied = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int key, void *value, void *extra) {
  (void)key, (void)value, (void)extra;
  if ((mode & delete_uses) != 0) use(comm, "in the delete callback");
  called++;
  return MPI_SUCCESS;
}

static void end(MPI_Comm *comm) {
  if ((mode & disconnected) != 0) MPI_Comm_disconnect(comm);
  else MPI_Comm_free(comm);
}

/* The ranks that share a communicator, and their order, differ from one to the next. */
static void live(int round) {
  MPI_Comm comm, twin, next;
  int key, value;
  MPI_Comm_create_keyval(copy, delete, &key, NULL);
  MPI_Comm_split(MPI_COMM_WORLD, round % 3 == 0 ? 0 : world_rank % 2, round % 2 ? -world_rank : world_rank, &comm);
  if ((mode & set_first) != 0) MPI_Comm_set_attr(comm, key, &value);
  use(comm, "first");
  if ((mode & set_first) == 0) MPI_Comm_set_attr(comm, key, &value);
  if ((mode & duplicated) != 0) {
    MPI_Comm_dup(comm, &twin);
    use(twin, "twin");
    end(&twin);
  }
  called = 0;
  end(&comm);
  CHECK(called == 1 && comm == MPI_COMM_NULL, "mode %d: the delete callback was called %d times", mode, called);
  MPI_Comm_split(MPI_COMM_WORLD, round % 3 == 1 ? 0 : world_rank < world_size / 2, -world_rank, &next);
  use(next, "next");
  MPI_Comm_free(&next);
  MPI_Comm_free_keyval(&key);
}

/* The callbacks are called when the program frees the communicator, although the shim may still agree about it. */
static void end_early(int starts) {
  MPI_Comm comm;
  MPI_Request request;
  int key, value;
  MPI_Comm_create_keyval(copy, delete, &key, NULL);
  MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank, &comm);
  MPI_Comm_set_attr(comm, key, &value);
  for (int i = 0; i < starts; i++) {
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  called = 0;
  end(&comm);
  CHECK(called == 1, "mode %d, %d starts: the delete callback was called %d times", mode, starts, called);
  MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  CHECK(world_size < 32, "too many ranks");
  use(MPI_COMM_WORLD, "MPI_COMM_WORLD");
  for (mode = 0; mode < all_modes; mode++)
    for (int round = 0; round < 3; round++) live(round);
  for (int round = 0; round < 12; round++) {
    mode = round % 2 ? disconnected : 0;
    end_early(round % 4);
  }
  mode = delete_uses;
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  return done();
}
