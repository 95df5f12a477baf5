/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The average of a value over all ranks.
 *
 *   cc -o allreduce allreduce.c $(pkg-config --cflags --libs libcoll)
 *   collctl run -n 4 ./allreduce
 */
#include <coll/coll.h>
#include <stdio.h>

static int check(coll_status status) {
  if (status == COLL_OK) return 0;
  fprintf(stderr, "%s: %s\n", coll_strerror(status), coll_last_error());
  return 1;
}

int main(void) {
  coll_comm *comm;
  if (check(coll_comm_create_from_launcher(&comm))) return 1;
  int rank = coll_comm_rank(comm), ranks = coll_comm_size(comm);

  double mine = rank + 1, sum;
  if (check(coll_allreduce(&mine, &sum, 1, COLL_DOUBLE, COLL_SUM, comm))) return 1;
  printf("rank %d of %d: mine is %g, the average is %g\n", rank, ranks, mine, sum / ranks);

  return check(coll_comm_free(comm));
}
