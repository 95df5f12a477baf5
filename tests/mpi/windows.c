/* SPDX-License-Identifier: BSD-3-Clause */
/* An access epoch of rank 0 to a window of the others, and a barrier after it: each of them tests its window once and
   finds that the epoch has ended. MPI does not guarantee that the first test finds it, but its own barrier behaves so. */
#include "check.h"

enum { rounds = 200 };

int main(int argc, char **argv) {
  start(&argc, &argv);
  int value = 0, flag;
  MPI_Win window;
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Group all, others;
  MPI_Win_get_group(window, &all);
  if (world_rank == 0) MPI_Group_excl(all, 1, &(int){0}, &others);
  else MPI_Group_incl(all, 1, &(int){0}, &others);
  for (int round = 0; round < rounds; round++) {
    if (world_rank == 0) {
      MPI_Win_start(others, 0, window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_complete(window);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      MPI_Win_post(others, 0, window);
      MPI_Win_test(window, &flag);
      CHECK(!flag, "round %d: the epoch has ended before rank 0 has ended it", round);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_test(window, &flag);
      CHECK(flag, "round %d: the epoch has not ended", round);
      if (!flag) MPI_Win_wait(window);
    }
  }
  MPI_Group_free(&others);
  MPI_Group_free(&all);
  MPI_Win_free(&window);
  return done();
}
