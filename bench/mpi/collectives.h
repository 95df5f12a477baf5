/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that are timed. */
#ifndef BENCH_MPI_COLLECTIVES_H
#define BENCH_MPI_COLLECTIVES_H

enum collective {
  BARRIER,
  BCAST,
  REDUCE,
  ALLREDUCE,
  SCATTER,
  GATHER,
  ALLGATHER,
  ALLTOALL,
  REDUCE_SCATTER,
  SCAN,
  EXSCAN,
  COLLECTIVES
};

#endif
