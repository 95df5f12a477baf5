// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/handles.h"

#include <coll/coll.h>

namespace coll::shim {

// Returns the MPI error code for a failure, with libcoll's error text if the library allows it (Open MPI). If a peer
// has died, first gives the launcher time to end the job, as it gets while MPI itself waits for the dead process.
int error_code(coll_status status);

// Returns the value of an MPI call that ended with `status`. An error first goes to the communicator's error handler,
// in the matching error class and with libcoll's error text. `call` is the program's, such as "MPI_Bcast": messages
// name it.
int finish_failed(MPI_Comm comm, coll_status status, const char *call);

// Adjusts the status of a broadcast or scatter. Under Open MPI the root may send less than a receiver has room for;
// MPICH reports a mismatch.
inline coll_status of_rooted(coll_status status) {
  if (status != COLL_ERR_COUNT) return status;
  return over_open_mpi ? COLL_OK : COLL_ERR_MISMATCH;
}

// The error of a collective of several steps: a status of libcoll, or a code of the MPI library.
struct Failure {
  coll_status status;
  int code;
};
// Throw Failure if the argument is an error.
inline void check(coll_status status) {
  if (status != COLL_OK) throw Failure{status, MPI_SUCCESS};
}
inline void check_mpi(int code) {
  if (code != MPI_SUCCESS) throw Failure{COLL_OK, code};
}
// As finish_failed().
int finish(MPI_Comm comm, const Failure &failure, const char *call);

}  // namespace coll::shim
