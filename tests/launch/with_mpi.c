/* SPDX-License-Identifier: BSD-3-Clause
 * with_mpi coll-first|mpi-first: uses MPI and a communicator that finds its ranks by the launcher, in either order. Prints
 * "rank R of N: sums S T" from both.
 */
#include <coll/coll.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static coll_comm *comm;

static int create(void) {
  if (coll_comm_create_from_launcher(&comm) == COLL_OK) return 1;
  printf("error %s\n", coll_last_error());
  return 0;
}

int main(int count, char **words) {
  const int coll_first = count > 1 && strcmp(words[1], "coll-first") == 0;
  if (coll_first && !create()) return 3;
  MPI_Init(&count, &words);
  if (!coll_first && !create()) MPI_Abort(MPI_COMM_WORLD, 3);
  int rank = 0, one = 1, by_mpi = 0, by_coll = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &by_mpi, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (coll_allreduce(&one, &by_coll, 1, COLL_INT32, COLL_SUM, comm) != COLL_OK) by_coll = -1;
  if (rank != coll_comm_rank(comm)) by_coll = -2;
  printf("rank %d of %d: sums %d %d\n", rank, coll_comm_size(comm), by_mpi, by_coll);
  fflush(stdout);
  coll_comm_free(comm);
  return MPI_Finalize();
}
