/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends from an attached buffer that has room for the messages of one round, with a barrier between the rounds: then all
   messages of the round before have been received. MPI does not guarantee that their room is free, but its own barrier
   behaves so. */
#include "check.h"

enum { rounds = 200, most = 4, longest = 1 << 18 };

static char in[longest], out[longest];

int main(int argc, char **argv) {
  start(&argc, &argv);
  const int peer = world_rank ^ 1, bytes[] = {1, 1000, 5000, 70000, longest};
  for (int size = 0; size < 5; size++) {
    const int room = most * (bytes[size] + MPI_BSEND_OVERHEAD + 64);
    void *buffer = allocate((size_t)room);
    MPI_Buffer_attach(buffer, room);
    for (int round = 0; round < rounds; round++) {
      MPI_Request requests[most];
      for (int m = 0; m < most; m++) {
        if (m % 2 == 0) MPI_Bsend(out, bytes[size], MPI_CHAR, peer, m, MPI_COMM_WORLD);
        else MPI_Ibsend(out, bytes[size], MPI_CHAR, peer, m, MPI_COMM_WORLD, &requests[m]);
      }
      for (int m = 0; m < most; m++) {
        MPI_Recv(in, bytes[size], MPI_CHAR, peer, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (m % 2 == 1) MPI_Wait(&requests[m], MPI_STATUS_IGNORE);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Buffer_detach(&buffer, &(int){0});
    free(buffer);
  }
  return done();
}
