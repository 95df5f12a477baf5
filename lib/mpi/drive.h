// SPDX-License-Identifier: BSD-3-Clause
// Waits for a libcoll request as MPI has to wait.
//
// A rank inside a collective still owes MPI progress: a peer may sit in MPI_Recv for a message that this rank
// has sent with MPI_Isend before it came here, and would never arrive at the collective otherwise. Hence the
// non-blocking forms of libcoll, and a look into MPI whenever the wait is not a short one.
#pragma once

#include <coll/coll.h>

namespace coll::shim {

// Completes and frees the request.
coll_status drive(coll_request *request);

}  // namespace coll::shim
