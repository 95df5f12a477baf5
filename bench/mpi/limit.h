/* SPDX-License-Identifier: BSD-3-Clause */
/* The upper bound: hand-written collectives for ranks that can address each other's buffers, without selection, checks or
 * errors. Libraries are compared with it. */
#ifndef BENCH_MPI_LIMIT_H
#define BENCH_MPI_LIMIT_H

#include <stddef.h>

#include "collectives.h"

struct limit;

/* Collective over MPI_COMM_WORLD. Allocates buffers of `in_bytes` and `out_bytes` for this rank, touched, in huge pages if
 * the system has them for shared memory. `spin`: every rank has a processor of its own; else waiting ranks yield. NULL if
 * memory cannot be shared. */
struct limit *limit_open(int rank, int ranks, int spin, size_t in_bytes, size_t out_bytes, float **in, float **out);

/* Returns the number of variants, which differ in which rank moves which part. The fastest one is the limit. */
int limit_variants(enum collective which);

/* Performs the MPI call, with sums of floats. The root of a broadcast sends its input, the others set their output. */
void limit_call(struct limit *limit, enum collective which, int variant, int root, size_t count);

/* Returns the bytes that all ranks together copy per nanosecond, each its own `bytes`, as warm as the last call left
 * them: the median of several copies. 0 if ranks are oversubscribed. */
double limit_copy_gbs(struct limit *limit, size_t bytes);

#endif
