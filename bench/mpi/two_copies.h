/* SPDX-License-Identifier: BSD-3-Clause */
/* What ordinary memory allows without help of the kernel: the collectives written out by hand for two ranks that share
 * memory of their own beside the buffers. What goes from one to the other is copied into it and out of it again, in
 * slices, so that both copies are made at the same time. No choice, no check, no error; a library is measured against it. */
#ifndef BENCH_MPI_TWO_COPIES_H
#define BENCH_MPI_TWO_COPIES_H

#include <stddef.h>

#include "collectives.h"

struct two_copies;

/* Collective over MPI_COMM_WORLD of two ranks: shared memory for vectors or blocks of up to `bytes`, touched, in huge pages
 * where the system has them for shared memory. NULL when memory cannot be shared. */
struct two_copies *two_copies_open(int rank, size_t bytes);

/* How many ways there are to do it with vectors or blocks of `bytes`, 0 where it has not been written out: lengths of slices,
 * and what is done in between. The fastest of them is the limit. */
int two_copies_ways(enum collective which, size_t bytes);

/* As the MPI call, for sums of floats. `in` and `out`: a broadcast's root sends `in`, the other rank gets `out`. */
void two_copies_call(struct two_copies *with, enum collective which, int way, int root, const float *in, float *out,
                     size_t count);

#endif
