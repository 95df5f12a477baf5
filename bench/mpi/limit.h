/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine allows: the same collectives written out by hand for ranks that can address each other's buffers. No
 * choice, no check, no error; a library is measured against it. */
#ifndef BENCH_MPI_LIMIT_H
#define BENCH_MPI_LIMIT_H

#include <stddef.h>

#include "collectives.h"

struct limit;

/* Collective over MPI_COMM_WORLD. Buffers of `in_bytes` and `out_bytes` for this rank, touched, in huge pages where the
 * system has them for shared memory. `spin`: every rank has a processor of its own, else who waits yields it. NULL when
 * memory cannot be shared. */
struct limit *limit_open(int rank, int ranks, int spin, size_t in_bytes, size_t out_bytes, float **in, float **out);

/* How many ways there are to do it: who moves which part. The fastest of them is the limit. */
int limit_ways(enum collective which);

/* As the MPI call, for sums of floats. A broadcast's root sends its input, the others get their output. */
void limit_call(struct limit *limit, enum collective which, int way, int root, size_t count);

/* Bytes that all ranks together can copy in a nanosecond, each its own `bytes`, which are as warm as the last call left
 * them: the median of several. 0 where ranks share processors. */
double limit_copy_gbs(struct limit *limit, size_t bytes);

#endif
