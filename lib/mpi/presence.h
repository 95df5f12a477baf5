// SPDX-License-Identifier: BSD-3-Clause
// Finds out whether all ranks of a node have this shim, before the first message or collective on its behalf.
//
// A rank that lacks it (LD_PRELOAD did not reach it, or names a file that does not exist there) would leave the others
// waiting without end. So before MPI_Init continues, a rank opens a socket whose name consists of the job, its local
// rank and the version. MPI_Init returns when all ranks have entered it: a name that cannot be reached then belongs to
// a rank without the shim. The first rank of the node decides; the others ask it, and wait for its answer or its exit,
// so all know the same. Job and local rank are read from the launcher's environment variables; under launchers without
// them, and on other nodes, all ranks are assumed to have the shim.
#pragma once

namespace coll::shim {

// Opens the socket. Called before MPI_Init; local.
void announce_presence();
// Returns the local rank of the first process that lacks the shim, -1 if there is none. Called after MPI_Init; waits
// for the deciding rank.
int lacking_rank();
// Whether lacking_rank() has looked at all of the job's `ranks` ranks: they are on this node, and the launcher is known.
bool looks_at_all(int ranks);
// The rank of this process in its job, as the launcher's environment has it; -1 if it has none.
int rank_in_job();
// Closes the socket. Called after MPI_Finalize, which all ranks have entered then.
void end_presence();

}  // namespace coll::shim
