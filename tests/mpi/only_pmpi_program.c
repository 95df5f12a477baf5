/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls the preloaded shim's MPI_ functions, behind which there are only the PMPI_ ones of only_pmpi.c. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#define CALL(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))

int main(void) {
  if (dlsym(RTLD_DEFAULT, "MPI_Barrier") == NULL || dlsym(RTLD_DEFAULT, "MPI_Bcast") == NULL) {
    printf("no shim is preloaded\n");
    return 1;
  }
  CALL(MPI_Init)(NULL, NULL);
  const int barrier = CALL(MPI_Barrier)(MPI_COMM_WORLD);
  const int bcast = CALL(MPI_Bcast)(NULL, 3, (MPI_Datatype)0, 5, MPI_COMM_WORLD);
  if (barrier == 41 && bcast == 42) printf("passed\n");
  else printf("barrier gave %d, not 41; bcast %d, not 42\n", barrier, bcast);
  return barrier == 41 && bcast == 42 ? 0 : 1;
}
