/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on communicators with processes that MPI_Comm_spawn has started, with the shim or without: program with|without */
#include "check.h"

enum { children = 2, elements = 1000 };

static void spawn(const char *program, int with_shim, MPI_Comm *inter) {
  char *plain[] = {"child", NULL};
  char *unset[] = {"-u", "LD_PRELOAD", (char *)program, "child", NULL};
  const int result = MPI_Comm_spawn(with_shim ? program : "env", with_shim ? plain : unset, children, MPI_INFO_NULL, 0,
                                    MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE);
  CHECK(result == MPI_SUCCESS, "MPI_Comm_spawn returned %d", result);
}

/* Each rank of `comm` contributes its rank + 1. */
static void check_sums(MPI_Comm comm, int expected_ranks) {
  int rank, ranks, own[elements], sums[elements], result = MPI_SUCCESS;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  CHECK(ranks == expected_ranks, "%d ranks, not %d", ranks, expected_ranks);
  for (int round = 0; round < 6; round++) {
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < elements; i++) own[i] = (rank + 1) * (i + round);
    if (round % 2 == 0) {
      result = MPI_Allreduce(own, sums, elements, MPI_INT, MPI_SUM, comm);
    } else {
      result = MPI_Iallreduce(own, sums, elements, MPI_INT, MPI_SUM, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(result == MPI_SUCCESS, "round %d returned %d", round, result);
    for (int i = 0; i < elements; i++)
      CHECK(sums[i] == ranks * (ranks + 1) / 2 * (i + round), "round %d: element %d is %d", round, i, sums[i]);
    MPI_Bcast(sums, elements, MPI_INT, round % ranks, comm);
  }
}

int main(int argc, char **argv) {
  MPI_Comm inter, merged, duplicate, own;
  start(&argc, &argv);
  MPI_Comm_get_parent(&inter);
  const int child = inter != MPI_COMM_NULL;
  if (!child) spawn(argv[0], argc > 1 && strcmp(argv[1], "with") == 0, &inter);
  check_sums(MPI_COMM_WORLD, world_size);

  /* The first call on `merged` is blocking, that on `duplicate` is not. */
  MPI_Intercomm_merge(inter, child, &merged);
  int others;
  MPI_Comm_remote_size(inter, &others);
  const int all = world_size + others;
  check_sums(merged, all);
  MPI_Comm_dup(merged, &duplicate);
  int one = 1, sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, duplicate, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == all, "%d ranks contributed, not %d", sum, all);
  check_sums(duplicate, all);

  MPI_Comm_split(merged, child, 0, &own); /* of one MPI_COMM_WORLD again */
  check_sums(own, world_size);
  MPI_Comm_free(&own);
  MPI_Comm_free(&duplicate);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&inter);
  return done();
}
