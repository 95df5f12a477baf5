// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/progress.h"

#include "mpi/communicators.h"
#include "mpi/library.h"
#include "mpi/probing.h"

namespace coll::shim {

constinit std::atomic<unsigned> served_since{0};
constinit std::atomic<unsigned> found_since_served{0};
constinit std::atomic<bool> sent_since_barrier{false};

// Reading the status of an incomplete request drives the progress of both libraries. (A probe does not: on a
// communicator of one rank, MPICH only looks at its message queue.)
void drive_mpi_progress(void *) {
  int flag = 0;
  mpi.Request_get_status(endless_request(), &flag, MPI_STATUS_IGNORE);
}

}  // namespace coll::shim
