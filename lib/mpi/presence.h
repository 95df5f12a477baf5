// SPDX-License-Identifier: BSD-3-Clause
// Whether all ranks of a node have this shim, before the first message or collective on its behalf.
//
// A rank that lacks it (LD_PRELOAD did not reach it, or names no file there) would leave the others waiting without end. So a
// rank opens a socket under a name made of the job, its local rank and the version before MPI_Init goes on. MPI_Init returns
// when all ranks have entered it: a name that cannot be reached then is a rank without the shim. One rank decides, the first
// of the node; the others ask it, and wait for its answer or its end, so all know the same. The launcher's environment says
// which job and rank a process is; under launchers that do not, all ranks are taken to have the shim.
#pragma once

namespace coll::shim {

// Before and behind MPI_Init. Local.
void announce_presence();
// The local rank of the first that lacks the shim, -1 if none does. Waits for the deciding rank.
int lacking_rank();
// Behind MPI_Finalize, which all ranks have entered then.
void end_presence();

}  // namespace coll::shim
