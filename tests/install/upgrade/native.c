/* SPDX-License-Identifier: BSD-3-Clause */
/* native FILE: adds over all ranks until FILE exists; checks every sum. */
#include <coll/coll.h>
#include <stdio.h>
#include <unistd.h>

static int failed(coll_status status) {
  if (status == COLL_OK) return 0;
  fprintf(stderr, "%s: %s\n", coll_strerror(status), coll_last_error());
  return 1;
}

int main(int argc, char **argv) {
  coll_comm *comm;
  if (argc != 2 || failed(coll_comm_create_from_launcher(&comm))) return 1;
  const long rank = coll_comm_rank(comm), ranks = coll_comm_size(comm);
  long rounds = 0;
  for (int ended = 0; !ended; rounds++) {
    const long mine[2] = {rounds + rank, rank == 0 && access(argv[1], F_OK) == 0};
    long sum[2];
    if (failed(coll_allreduce(mine, sum, 2, COLL_INT64, COLL_SUM, comm))) return 1;
    if (sum[0] != ranks * rounds + ranks * (ranks - 1) / 2) {
      fprintf(stderr, "rank %ld: round %ld: the sum is %ld\n", rank, rounds, sum[0]);
      return 1;
    }
    if (rounds == 0) fprintf(stderr, "rank %ld runs, process %d\n", rank, (int)getpid());
    ended = sum[1] != 0;
    usleep(1000);
  }
  printf("rank %ld: %ld sums\n", rank, rounds);
  return failed(coll_comm_free(comm));
}
