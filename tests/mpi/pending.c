/* SPDX-License-Identifier: BSD-3-Clause */
/* Wildcard receives are pending while the shim prepares communicators: none may get a message of the shim. With
   the argument `unseen` MPI is begun in a way that the shim does not see. */
#include "check.h"

struct pending {
  MPI_Comm comm;
  int value;
  MPI_Request request;
};

static void receive_anything(struct pending *pending, MPI_Comm comm) {
  pending->comm = comm;
  pending->value = -1;
  MPI_Irecv(&pending->value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &pending->request);
}

static void use(MPI_Comm comm) {
  int rank, size, sum = 0, word = -1;
  MPI_Barrier(comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size, "allreduce: %d of %d ranks", sum, size);
  if (rank == size - 1) word = 5;
  MPI_Bcast(&word, 1, MPI_INT, size - 1, comm);
  CHECK(word == 5, "bcast: %d", word);
}

/* Every rank gets one message, of the one before it. */
static void check_message(struct pending *pending) {
  int rank, size, flag;
  MPI_Status status;
  MPI_Comm_rank(pending->comm, &rank);
  MPI_Comm_size(pending->comm, &size);
  const int before = (rank + size - 1) % size;
  MPI_Test(&pending->request, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag, "%d has come before anything was sent", pending->value);
  MPI_Barrier(pending->comm);
  MPI_Request sent;
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 40 + rank, pending->comm, &sent);
  MPI_Wait(&pending->request, &status);
  CHECK(pending->value == before && status.MPI_SOURCE == before && status.MPI_TAG == 40 + before,
        "got %d from %d with tag %d", pending->value, status.MPI_SOURCE, status.MPI_TAG);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "unseen") == 0) {
    PMPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  } else {
    start(&argc, &argv);
  }
  enum { of_world, of_copy, of_half, communicators };
  struct pending pending[communicators];
  MPI_Comm copy, half;
  receive_anything(&pending[of_world], MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
  receive_anything(&pending[of_copy], copy);
  receive_anything(&pending[of_half], half);
  /* The parts come first, before the shim knows the whole communicator. */
  use(half);
  use(copy);
  use(MPI_COMM_WORLD);
  for (int i = 0; i < communicators; i++) check_message(&pending[i]);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&half);
  return done();
}
