/* SPDX-License-Identifier: BSD-3-Clause */
/* How the ranks of an MPI program come to a lockstep. */
#ifndef BENCH_MPI_RANKS_H
#define BENCH_MPI_RANKS_H

#include "lockstep.h"

/* The rank on this node as the launcher's environment tells it (known before MPI_Init), or -1. */
int rank_from_environment(int *ranks);

/* Collective over MPI_COMM_WORLD, whose ranks share a node. Zeroed memory of all ranks, until the process ends. NULL, with
 * a message, when memory cannot be shared. */
void *open_shared_memory(int rank, size_t bytes);

/* Collective over MPI_COMM_WORLD, whose ranks share a node. NULL, with a message, when memory cannot be shared. */
struct lockstep *open_lockstep(int rank, int ranks, int spin);

#endif
