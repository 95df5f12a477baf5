/* SPDX-License-Identifier: BSD-3-Clause */
/* The library performs non-blocking collectives, the shim blocking ones in between. MPI requires all collectives of a
   communicator to start in the same order on all ranks, and lets each rank wait for them at any time. */
#include "check.h"

enum { length = 30000, rounds = 12 };

static int *words(void) { return allocate(length * sizeof(int)); }

static void check_words(const int *got, int first, const char *what) {
  for (int i = 0; i < length; i++) CHECK(got[i] == first + i, "%s: [%d] is %d, not %d", what, i, got[i], first + i);
}

/* Two are active, which ranks complete in different orders, with blocking ones before, between and after. */
static void check_round(MPI_Comm comm, int round) {
  MPI_Request requests[3];
  const int root = round % world_size;
  int *message = words(), *taken = words(), *mine = words(), *sum = words();
  for (int i = 0; i < length; i++) {
    message[i] = world_rank == root ? round + i : -1;
    taken[i] = world_rank == 0 ? 7 * round + i : -1;
    mine[i] = world_rank == 0 ? i : 0;
  }
  int all = 0, largest = 0, *ranks = allocate((size_t)world_size * sizeof(int));
  MPI_Ibcast(message, length, MPI_INT, root, comm, &requests[0]);
  MPI_Allreduce(&(int){1}, &all, 1, MPI_INT, MPI_SUM, comm);
  CHECK(all == world_size, "allreduce while a broadcast is under way: %d", all);
  MPI_Iallreduce(mine, sum, length, MPI_INT, MPI_SUM, comm, &requests[1]);
  MPI_Bcast(taken, length, MPI_INT, 0, comm);
  check_words(taken, 7 * round, "bcast while two collectives are under way");
  MPI_Ibarrier(comm, &requests[2]);
  MPI_Allgather(&world_rank, 1, MPI_INT, ranks, 1, MPI_INT, comm);
  for (int r = 0; r < world_size; r++) CHECK(ranks[r] == r, "allgather: [%d] is %d", r, ranks[r]);
  MPI_Wait(&requests[(world_rank + round) % 2], MPI_STATUS_IGNORE);
  MPI_Reduce(&world_rank, &largest, 1, MPI_INT, MPI_MAX, root, comm);
  CHECK(world_rank != root || largest == world_size - 1, "reduce: %d", largest);
  MPI_Barrier(comm);
  MPI_Status statuses[3];
  MPI_Waitall(3, requests, statuses);
  check_words(message, round, "the broadcast that was under way");
  check_words(sum, 0, "the sum that was under way");
  free(message);
  free(taken);
  free(mine);
  free(sum);
  free(ranks);
}

int main(int argc, char **argv) {
  MPI_Comm comm;
  start(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  /* The first collective of a communicator may be one of the library's, too. */
  for (int round = 0; round < rounds; round++) check_round(round % 2 ? comm : MPI_COMM_WORLD, round);
  MPI_Comm_free(&comm);
  return done();
}
