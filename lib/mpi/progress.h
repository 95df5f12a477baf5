// SPDX-License-Identifier: BSD-3-Clause
// MPI's progress while a rank waits inside libcoll.
//
// A rank inside a collective still owes MPI progress: a peer may sit in MPI_Recv for a message that this rank
// has sent with MPI_Isend before it came here, and would never arrive at the collective otherwise.
#pragma once

namespace coll::shim {

// Given to libcoll, which calls it every few microseconds of a wait.
void look_into_mpi(void *);

}  // namespace coll::shim
