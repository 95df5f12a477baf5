// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/handles.h"

#include <coll/coll.h>

namespace coll::shim {

// The code of MPI for a failure, with libcoll's own words as its text where the library has room for them. If a peer has
// died, the launcher first gets the time to end the job, as it does while MPI itself waits for the dead.
int error_code(coll_status status);

// What an MPI call returns for a status of libcoll. A failure goes through the communicator's error handler, in
// the fitting class and with libcoll's own words as its text. `call` is the program's, as in "MPI_Bcast": messages name it.
int finish_failed(MPI_Comm comm, coll_status status, const char *call);

// Of a broadcast or scatter. Open MPI lets the root send less than a receiver has room for; to MPICH that is ranks at odds.
inline coll_status of_rooted(coll_status status) {
  if (status != COLL_ERR_COUNT) return status;
  return over_open_mpi ? COLL_OK : COLL_ERR_MISMATCH;
}

// What went wrong in a collective of several steps: a status of libcoll, or what the MPI library returned.
struct Trouble {
  coll_status status;
  int code;
};
// Throw Trouble.
inline void check(coll_status status) {
  if (status != COLL_OK) throw Trouble{status, MPI_SUCCESS};
}
inline void check_mpi(int code) {
  if (code != MPI_SUCCESS) throw Trouble{COLL_OK, code};
}
// As above.
int finish(MPI_Comm comm, const Trouble &trouble, const char *call);

}  // namespace coll::shim
