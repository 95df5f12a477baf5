/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up lockstep for the ranks of an MPI program. */
#ifndef BENCH_MPI_RANKS_H
#define BENCH_MPI_RANKS_H

#include "lockstep.h"

/* Returns the rank on this node from the launcher's environment (known before MPI_Init), or -1. */
int rank_from_environment(int *ranks);

/* Collective over MPI_COMM_WORLD, whose ranks share a node. Returns zeroed memory that all ranks share and that lives until
   the process ends; NULL, with
 * a message, when memory cannot be shared. */
void *open_shared_memory(int rank, size_t bytes);

/* Collective over MPI_COMM_WORLD, whose ranks share a node. NULL, with a message, when memory cannot be shared. */
struct lockstep *open_lockstep(int rank, int ranks, int spin);

#endif
