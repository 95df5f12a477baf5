/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions without MPI_Init: the shim forwards, at every rank, and gives the reason. */
#include "check.h"

int main(void) {
#if MPI_VERSION >= 4
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  /* Once: MPICH 4.0 crashes by itself in the second MPI_Session_init. */
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "tests/mpi", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  int sum = 0;
  MPI_Comm_rank(comm, &world_rank);
  MPI_Comm_size(comm, &world_size);
  for (int i = 0; i < 10; i++) {
    const int mine = world_rank + i;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != world_size * (world_size - 1) / 2 + world_size * i) {
      fprintf(stderr, "rank %d: sum %d\n", world_rank, sum);
      return 1;
    }
  }
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  if (world_rank == 0) printf("passed\n");
#else
  printf("skipped: this MPI library has no sessions\n");
#endif
  return 0;
}
