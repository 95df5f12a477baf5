/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's progress while a rank waits in a collective. Rank 0 starts a long send and enters the collective; the
   others receive first. If the send needs its sender, rank 0 must advance it inside the collective. */
#include "check.h"

enum { longest = 4 << 20 };

static void collective(int which) {
  int in = 1, out = 0;
  switch (which) {
    case 0: MPI_Barrier(MPI_COMM_WORLD); break;
    case 1: MPI_Bcast(&in, 1, MPI_INT, world_size - 1, MPI_COMM_WORLD); break;
    case 2: MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); break;
    default: MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  char *message = allocate(longest);
  MPI_Request *requests = allocate((size_t)world_size * sizeof *requests);
  for (int bytes = 1 << 10; bytes <= longest; bytes *= 8) {
    for (int which = 0; which < 4; which++) {
      memset(message, world_rank == 0 ? which + 1 : 0, (size_t)bytes);
      if (world_rank == 0) {
        for (int rank = 1; rank < world_size; rank++)
          MPI_Isend(message, bytes, MPI_CHAR, rank, which, MPI_COMM_WORLD, &requests[rank]);
        collective(which);
        for (int rank = 1; rank < world_size; rank++) MPI_Wait(&requests[rank], MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(message, bytes, MPI_CHAR, 0, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        collective(which);
      }
      CHECK(message[bytes - 1] == which + 1, "%d bytes during collective %d", bytes, which);
    }
  }
  free(requests);
  free(message);
  return done();
}
