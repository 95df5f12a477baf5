// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a program of Open MPI: prints which algorithm serves a broadcast or an allreduce, and calls it. Arguments
// are forwarded without change: all are integers and pointers, at most ten.
#include <dlfcn.h>
#include <stdio.h>

#define SPY(kind, algorithm)                                                                                    \
  int ompi_coll_base_##kind##_intra_##algorithm(long a, long b, long c, long d, long e, long f, long g, long h, \
                                                long i, long j);                                                \
  int ompi_coll_base_##kind##_intra_##algorithm(long a, long b, long c, long d, long e, long f, long g, long h, \
                                                long i, long j) {                                               \
    int (*real)(long, long, long, long, long, long, long, long, long, long);                                    \
    *(void **)&real = dlsym(RTLD_NEXT, "ompi_coll_base_" #kind "_intra_" #algorithm);                           \
    fprintf(stderr, "spy %s %s\n", #kind, #algorithm);                                                          \
    return real(a, b, c, d, e, f, g, h, i, j);                                                                  \
  }

SPY(bcast, basic_linear)
SPY(bcast, binomial)
SPY(bcast, bintree)
SPY(bcast, chain)
SPY(bcast, knomial)
SPY(bcast, pipeline)
SPY(bcast, scatter_allgather)
SPY(bcast, scatter_allgather_ring)
SPY(bcast, split_bintree)
SPY(allreduce, basic_linear)
SPY(allreduce, nonoverlapping)
SPY(allreduce, recursivedoubling)
SPY(allreduce, redscat_allgather)
SPY(allreduce, ring)
SPY(allreduce, ring_segmented)
