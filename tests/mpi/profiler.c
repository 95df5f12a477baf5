/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiler, preloaded before or behind the shim: its waits and tests call the MPI library by the names of the profiling
   interface, such as PMPI_Wait, whatever the requests are. Prints a line at the end if the program has called each of them. */
#include <mpi.h>
#include <stdio.h>

enum { wait_, waitall, waitany, waitsome, test_, testall, testany, testsome, functions };
static long calls[functions];

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
  calls[wait_]++;
  return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  calls[waitall]++;
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
  calls[waitany]++;
  return PMPI_Waitany(count, requests, index, status);
}

int MPI_Waitsome(int count, MPI_Request *requests, int *some, int *indices, MPI_Status *statuses) {
  calls[waitsome]++;
  return PMPI_Waitsome(count, requests, some, indices, statuses);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  calls[test_]++;
  return PMPI_Test(request, flag, status);
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
  calls[testall]++;
  return PMPI_Testall(count, requests, flag, statuses);
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
  calls[testany]++;
  return PMPI_Testany(count, requests, index, flag, status);
}

int MPI_Testsome(int count, MPI_Request *requests, int *some, int *indices, MPI_Status *statuses) {
  calls[testsome]++;
  return PMPI_Testsome(count, requests, some, indices, statuses);
}

__attribute__((destructor)) static void report(void) {
  for (int i = 0; i < functions; i++)
    if (calls[i] == 0) return;
  fputs("profiler: all waits and tests called PMPI\n", stderr);
  fflush(stderr);
}
