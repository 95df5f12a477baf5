/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to all, a barrier, and then receives while a probe finds something: everything was sent before the barrier, so
   no message may be missing. MPI does not guarantee that, but its own barrier behaves so. */
#include "check.h"

enum { most = 10, rounds = 60 };

static char in[4096], out[4096];

static int one(int matched, int tag) {
  int flag;
  MPI_Status status;
  if (matched) {
    MPI_Message message;
    MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, &status);
    if (flag) MPI_Mrecv(in, (int)sizeof in, MPI_CHAR, &message, &status);
  } else {
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
    if (flag) MPI_Recv(in, (int)sizeof in, MPI_CHAR, status.MPI_SOURCE, tag, MPI_COMM_WORLD, &status);
  }
  return flag;
}

/* `all`: every rank sends, otherwise rank 0 only, and its peers have no message of their own on the way. */
static void check_drain(int round, int messages, int bytes, int all) {
  MPI_Request requests[most * 8];
  int sent = 0, got = 0;
  if (all || world_rank == 0)
    for (int m = 0; m < messages; m++)
      for (int r = 0; r < world_size; r++) MPI_Isend(out, bytes, MPI_CHAR, r, round, MPI_COMM_WORLD, &requests[sent++]);
  MPI_Barrier(MPI_COMM_WORLD);
  while (one(round % 2, round)) got++;
  const int expected = messages * (all ? world_size : 1);
  CHECK(got == expected, "round %d: %d of %d messages of %d bytes", round, got, expected, bytes);
  for (int i = 0; i < sent; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  CHECK(world_size <= 8, "too many ranks");
  for (int round = 0; round < rounds; round++) {
    const int messages[] = {1, 3, 6, most}, bytes[] = {0, 8, 1000, 4096};
    check_drain(round, messages[round % 4], bytes[round / 4 % 4], round % 3 != 0);
  }
  return done();
}
