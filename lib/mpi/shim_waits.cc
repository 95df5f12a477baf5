// SPDX-License-Identifier: BSD-3-Clause
//
// The C entry points that complete requests.
#include "mpi/library.h"
#include "mpi/waits.h"

using namespace coll::shim;

extern "C" {

#pragma GCC visibility push(default)

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
  return wait(
      "MPI_Wait", [&] { return handles_in(1, request); }, mpi_library().next.Wait, request, status);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  return wait(
      "MPI_Waitall", [&] { return handles_in(count, requests); }, mpi_library().next.Waitall, count, requests,
      statuses);
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status) {
  return wait(
      "MPI_Waitany", [&] { return handles_in(count, requests); }, mpi_library().next.Waitany, count, requests, index,
      status);
}

int MPI_Waitsome(int count, MPI_Request *requests, int *completed, int *indices, MPI_Status *statuses) {
  return wait(
      "MPI_Waitsome", [&] { return handles_in(count, requests); }, mpi_library().next.Waitsome, count, requests,
      completed, indices, statuses);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  return wait(
      "MPI_Test", [&] { return handles_in(1, request); }, mpi_library().next.Test, request, flag, status);
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses) {
  return wait(
      "MPI_Testall", [&] { return handles_in(count, requests); }, mpi_library().next.Testall, count, requests, flag,
      statuses);
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status) {
  return wait(
      "MPI_Testany", [&] { return handles_in(count, requests); }, mpi_library().next.Testany, count, requests, index,
      flag, status);
}

int MPI_Testsome(int count, MPI_Request *requests, int *completed, int *indices, MPI_Status *statuses) {
  return wait(
      "MPI_Testsome", [&] { return handles_in(count, requests); }, mpi_library().next.Testsome, count, requests,
      completed, indices, statuses);
}

#pragma GCC visibility pop

}  // extern "C"
