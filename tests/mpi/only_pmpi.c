/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI library that has the names PMPI_ alone, and of these few: forwarded calls still arrive. It
   communicates with no rank, so the shim intercepts no call. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifdef OPEN_MPI
struct ompi_predefined_communicator_t {
  char space[512];
} ompi_mpi_comm_world;
#endif

#ifdef MPI_ABI_VERSION
int PMPI_Abi_get_version(int *version, int *subversion) {
  *version = MPI_ABI_VERSION;
  *subversion = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}
#endif

int PMPI_Get_library_version(char *version, int *length) {
  strcpy(version, "only PMPI_");
  *length = (int)strlen(version);
  return MPI_SUCCESS;
}

int PMPI_Initialized(int *flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int PMPI_Init(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return MPI_SUCCESS;
}

int PMPI_Barrier(MPI_Comm comm) {
  printf("PMPI_Barrier%s\n", comm == MPI_COMM_WORLD ? "" : " of another communicator");
  return 41;
}

int PMPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  (void)datatype;
  printf("PMPI_Bcast of %d from %d to %p%s\n", count, root, buffer, comm == MPI_COMM_WORLD ? "" : " elsewhere");
  return 42;
}
