// SPDX-License-Identifier: BSD-3-Clause
//
// The Fortran entry points that complete requests.
#include "mpi/fortran.h"
#include "mpi/fortran_started.h"

using namespace coll::shim;

// `requests`: the arguments of handles_of().
#define ENTRY(name, NAME, of_mpi, parameters, requests, ...) \
  COLL_FORTRAN_WITHOUT_BUFFER(name, NAME, parameters,        \
                              wait(                          \
                                  of_mpi, [&] { return handles_of requests; }, next, __VA_ARGS__))

ENTRY(wait, WAIT, "MPI_Wait", (Int * request, Int *status, Int *ierror), (1, request), request, status, ierror)
ENTRY(waitall, WAITALL, "MPI_Waitall", (Int * count, Int *requests, Int *statuses, Int *ierror), (*count, requests),
      count, requests, statuses, ierror)
ENTRY(waitany, WAITANY, "MPI_Waitany", (Int * count, Int *requests, Int *index, Int *status, Int *ierror),
      (*count, requests), count, requests, index, status, ierror)
ENTRY(waitsome, WAITSOME, "MPI_Waitsome",
      (Int * count, Int *requests, Int *completed, Int *indices, Int *statuses, Int *ierror), (*count, requests), count,
      requests, completed, indices, statuses, ierror)
ENTRY(test, TEST, "MPI_Test", (Int * request, Int *flag, Int *status, Int *ierror), (1, request), request, flag, status,
      ierror)
ENTRY(testall, TESTALL, "MPI_Testall", (Int * count, Int *requests, Int *flag, Int *statuses, Int *ierror),
      (*count, requests), count, requests, flag, statuses, ierror)
ENTRY(testany, TESTANY, "MPI_Testany", (Int * count, Int *requests, Int *index, Int *flag, Int *status, Int *ierror),
      (*count, requests), count, requests, index, flag, status, ierror)
ENTRY(testsome, TESTSOME, "MPI_Testsome",
      (Int * count, Int *requests, Int *completed, Int *indices, Int *statuses, Int *ierror), (*count, requests), count,
      requests, completed, indices, statuses, ierror)
