/* SPDX-License-Identifier: BSD-3-Clause */
/* The upper bound for ordinary memory without kernel-assisted copies: hand-written collectives for two ranks that share
 * memory besides the buffers. Data is copied into it and out of it again (CICO), in
 * slices, so that both copies overlap. No selection, checks or errors. Libraries are compared with it. */
#ifndef BENCH_MPI_TWO_COPIES_H
#define BENCH_MPI_TWO_COPIES_H

#include <stddef.h>

#include "collectives.h"

struct two_copies;

/* Collective over MPI_COMM_WORLD of two ranks: shared memory for vectors or blocks of up to `bytes`, touched, in huge pages
 * if the system has them for shared memory. NULL if memory cannot be shared. */
struct two_copies *two_copies_open(int rank, size_t bytes);

/* Returns the number of variants for vectors or blocks of `bytes`, which differ in the length of slices and in the order
 * of copies; 0: not implemented. The fastest one is the limit. */
int two_copies_variants(enum collective which, size_t bytes);

/* Performs the MPI call, with sums of floats. The root of a broadcast sends `in`, the other rank sets `out`. */
void two_copies_call(struct two_copies *with, enum collective which, int variant, int root, const float *in, float *out,
                     size_t count);

#endif
