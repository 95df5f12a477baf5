// SPDX-License-Identifier: BSD-3-Clause
//
// The entry points of Fortran that complete requests.
#include "mpi/fortran.h"
#include "mpi/fortran_started.h"

using namespace coll::shim;

COLL_FORTRAN_WITHOUT_BUFFER(wait, WAIT, (Int * request, Int *status, Int *ierror),
                            wait(
                                "MPI_Wait", [&] { return handles_of(1, request); }, next, request, status, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(waitall, WAITALL, (Int * count, Int *requests, Int *statuses, Int *ierror),
                            wait(
                                "MPI_Waitall", [&] { return handles_of(*count, requests); }, next, count, requests,
                                statuses, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(waitany, WAITANY, (Int * count, Int *requests, Int *index, Int *status, Int *ierror),
                            wait(
                                "MPI_Waitany", [&] { return handles_of(*count, requests); }, next, count, requests,
                                index, status, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(waitsome, WAITSOME,
                            (Int * count, Int *requests, Int *completed, Int *indices, Int *statuses, Int *ierror),
                            wait(
                                "MPI_Waitsome", [&] { return handles_of(*count, requests); }, next, count, requests,
                                completed, indices, statuses, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(test, TEST, (Int * request, Int *flag, Int *status, Int *ierror),
                            wait(
                                "MPI_Test", [&] { return handles_of(1, request); }, next, request, flag, status,
                                ierror))

COLL_FORTRAN_WITHOUT_BUFFER(testall, TESTALL, (Int * count, Int *requests, Int *flag, Int *statuses, Int *ierror),
                            wait(
                                "MPI_Testall", [&] { return handles_of(*count, requests); }, next, count, requests,
                                flag, statuses, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(testany, TESTANY,
                            (Int * count, Int *requests, Int *index, Int *flag, Int *status, Int *ierror),
                            wait(
                                "MPI_Testany", [&] { return handles_of(*count, requests); }, next, count, requests,
                                index, flag, status, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(testsome, TESTSOME,
                            (Int * count, Int *requests, Int *completed, Int *indices, Int *statuses, Int *ierror),
                            wait(
                                "MPI_Testsome", [&] { return handles_of(*count, requests); }, next, count, requests,
                                completed, indices, statuses, ierror))
