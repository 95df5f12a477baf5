// SPDX-License-Identifier: BSD-3-Clause
// MPI's progress while a rank waits inside libcoll.
//
// A rank inside a collective still owes MPI progress: a peer may wait in MPI_Recv for a message that this rank sent
// with MPI_Isend before the collective, and would otherwise never reach the collective.
#pragma once

namespace coll::shim {

// Drives MPI's progress once. libcoll calls it every few microseconds of a wait (coll_comm_set_progress()).
void drive_mpi_progress(void *);

}  // namespace coll::shim
