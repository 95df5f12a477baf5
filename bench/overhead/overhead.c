/* SPDX-License-Identifier: BSD-3-Clause */
/* What one call of a collective costs a rank while nobody does the collective: `empty.c` stands in for libcoll and for
   MPI. Once with the shim preloaded and once without, the difference is the shim's own share of a call. With -DFORTRAN
   the calls are those that a Fortran compiler makes for mpif.h, where they are not the ones of C. Prints a JSON
   line a rank and collective: nanoseconds of a call that the shim takes, of one on a communicator of one rank and of
   one without data, which it passes on. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { most_ranks = 64, block = 8 };

static int in[most_ranks * block], out[most_ranks * block];
static int counts[most_ranks], displs[most_ranks];

/* Variables, for the compiler is not to know what a call is given. */
static int count;

#ifdef FORTRAN
static MPI_Fint comm_f, type_f, sum_f, root_f, error_f;

#define IN in, &count, &type_f
#define OUT out, &count, &type_f
#define INS in, counts, displs, &type_f
#define OUTS out, counts, displs, &type_f
#define ON &comm_f, &error_f
#define COLLECTIVES(X)                                                            \
  X(barrier, mpi_barrier_(ON), 0)                                                 \
  X(bcast, mpi_bcast_(IN, &root_f, ON), 1)                                        \
  X(reduce, mpi_reduce_(in, OUT, &sum_f, &root_f, ON), 1)                         \
  X(allreduce, mpi_allreduce_(in, OUT, &sum_f, ON), 1)                            \
  X(reduce_scatter, mpi_reduce_scatter_(in, out, counts, &type_f, &sum_f, ON), 0) \
  X(reduce_scatter_block, mpi_reduce_scatter_block_(in, OUT, &sum_f, ON), 1)      \
  X(scan, mpi_scan_(in, OUT, &sum_f, ON), 1)                                      \
  X(exscan, mpi_exscan_(in, OUT, &sum_f, ON), 1)                                  \
  X(gather, mpi_gather_(IN, OUT, &root_f, ON), 1)                                 \
  X(gatherv, mpi_gatherv_(IN, OUTS, &root_f, ON), 0)                              \
  X(scatter, mpi_scatter_(IN, OUT, &root_f, ON), 1)                               \
  X(scatterv, mpi_scatterv_(INS, OUT, &root_f, ON), 0)                            \
  X(allgather, mpi_allgather_(IN, OUT, ON), 1)                                    \
  X(allgatherv, mpi_allgatherv_(IN, OUTS, ON), 0)                                 \
  X(alltoall, mpi_alltoall_(IN, OUT, ON), 1)                                      \
  X(alltoallv, mpi_alltoallv_(INS, OUTS, ON), 0)
/* As Fortran has it, nobody knows what is passed. */
#define DECLARE(name, call, may_be_empty) void mpi_##name##_();
COLLECTIVES(DECLARE)

static void set_comm(MPI_Comm of) {
  comm_f = MPI_Comm_c2f(of);
  type_f = MPI_Type_c2f(MPI_INT);
  sum_f = MPI_Op_c2f(MPI_SUM);
}
#else
static MPI_Comm comm;
static void set_comm(MPI_Comm of) { comm = of; }

#define IN in, count, MPI_INT
#define OUT out, count, MPI_INT
#define INS in, counts, displs, MPI_INT
#define OUTS out, counts, displs, MPI_INT
#define COLLECTIVES(X)                                                              \
  X(barrier, MPI_Barrier(comm), 0)                                                  \
  X(bcast, MPI_Bcast(IN, 0, comm), 1)                                               \
  X(reduce, MPI_Reduce(in, OUT, MPI_SUM, 0, comm), 1)                               \
  X(allreduce, MPI_Allreduce(in, OUT, MPI_SUM, comm), 1)                            \
  X(reduce_scatter, MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm), 0) \
  X(reduce_scatter_block, MPI_Reduce_scatter_block(in, OUT, MPI_SUM, comm), 1)      \
  X(scan, MPI_Scan(in, OUT, MPI_SUM, comm), 1)                                      \
  X(exscan, MPI_Exscan(in, OUT, MPI_SUM, comm), 1)                                  \
  X(gather, MPI_Gather(IN, OUT, 0, comm), 1)                                        \
  X(gatherv, MPI_Gatherv(IN, OUTS, 0, comm), 0)                                     \
  X(scatter, MPI_Scatter(IN, OUT, 0, comm), 1)                                      \
  X(scatterv, MPI_Scatterv(INS, OUT, 0, comm), 0)                                   \
  X(allgather, MPI_Allgather(IN, OUT, comm), 1)                                     \
  X(allgatherv, MPI_Allgatherv(IN, OUTS, comm), 0)                                  \
  X(alltoall, MPI_Alltoall(IN, OUT, comm), 1)                                       \
  X(alltoallv, MPI_Alltoallv(INS, OUTS, comm), 0)
#endif

#define FUNCTION(name, call, may_be_empty) \
  static void name(void) { call; }
COLLECTIVES(FUNCTION)

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* The fastest of many rounds: whatever else runs on the machine only adds. */
static double call_ns(void (*call)(void)) {
  enum { rounds = 300, calls = 1000 };
  double best = 1e9;
  for (int round = 0; round < rounds; round++) {
    const double start = now_ns();
    for (int i = 0; i < calls; i++) call();
    const double each = (now_ns() - start) / calls;
    if (each < best) best = each;
  }
  return best;
}

static double passed_ns(void (*call)(void), MPI_Comm on, int of) {
  set_comm(on);
  count = of;
  const double ns = call_ns(call);
  set_comm(MPI_COMM_WORLD);
  count = block;
  return ns;
}

static void tell(int rank, const char *name, void (*call)(void), int may_be_empty) {
  char line[200], empty[40] = "";
  const double taken = call_ns(call), alone = passed_ns(call, MPI_COMM_SELF, block);
  if (may_be_empty) snprintf(empty, sizeof empty, ", \"empty\": %.1f", passed_ns(call, MPI_COMM_WORLD, 0));
  const int length =
      snprintf(line, sizeof line, "{\"rank\": %d, \"collective\": \"%s\", \"taken\": %.1f, \"alone\": %.1f%s}\n", rank,
               name, taken, alone, empty);
  /* At once: ranks may share a pipe. */
  if (write(STDOUT_FILENO, line, (size_t)length) != length) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* One rank after the other: two that share a core, as hardware threads do, would slow each other down. */
static void await_turn(int rank) {
  int there = rank == 0;
  while (!there) {
    usleep(1000);
    PMPI_Iprobe(rank - 1, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  }
  if (rank > 0) PMPI_Recv(NULL, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > most_ranks) {
    fprintf(stderr, "overhead: at most %d ranks\n", most_ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  set_comm(MPI_COMM_WORLD);
  count = block;
  for (int i = 0; i < ranks; i++) {
    counts[i] = block;
    displs[i] = i * block;
  }
#define MEASURE(name, call, may_be_empty) tell(rank, #name, name, may_be_empty);
  /* What is kept of a communicator is made by the first call, which is collective. */
  MPI_Barrier(MPI_COMM_WORLD);
  await_turn(rank);
  COLLECTIVES(MEASURE)
  if (rank + 1 < ranks) PMPI_Send(NULL, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
