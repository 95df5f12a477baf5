/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of one call of a collective on a rank without performing it: `empty.c` replaces libcoll and
   MPI. It runs once with the shim preloaded and once without; the difference is the time of the shim. With -DFORTRAN
   the calls are those of a Fortran compiler with mpif.h, for MPI libraries that have separate ones. Prints a JSON
   line per rank and collective: nanoseconds of a call that the shim intercepts, of one on a communicator of one rank and of
   one without data, which it forwards. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { most_ranks = 64, block = 8 };

static int in[most_ranks * block], out[most_ranks * block];
static int counts[most_ranks], displs[most_ranks];

/* Variables, so that the compiler does not know the arguments. */
static int count;

#ifdef FORTRAN
static MPI_Fint comm, type, sum, root, error;

#define CALL(c, fortran) mpi_##fortran##_
#define COUNT &count
#define TYPE &type
#define SUM &sum
#define ROOT &root
#define ON &comm, &error

static void set_comm(MPI_Comm of) {
  comm = MPI_Comm_c2f(of);
  type = MPI_Type_c2f(MPI_INT);
  sum = MPI_Op_c2f(MPI_SUM);
}
#else
static MPI_Comm comm;

#define CALL(c, fortran) MPI_##c
#define COUNT count
#define TYPE MPI_INT
#define SUM MPI_SUM
#define ROOT 0
#define ON comm

static void set_comm(MPI_Comm of) { comm = of; }
#endif

#define IN in, COUNT, TYPE
#define OUT out, COUNT, TYPE
#define INS in, counts, displs, TYPE
#define OUTS out, counts, displs, TYPE
#define COLLECTIVES(X)                                                   \
  X(barrier, Barrier, (ON), 0)                                           \
  X(bcast, Bcast, (IN, ROOT, ON), 1)                                     \
  X(reduce, Reduce, (in, OUT, SUM, ROOT, ON), 1)                         \
  X(allreduce, Allreduce, (in, OUT, SUM, ON), 1)                         \
  X(reduce_scatter, Reduce_scatter, (in, out, counts, TYPE, SUM, ON), 0) \
  X(reduce_scatter_block, Reduce_scatter_block, (in, OUT, SUM, ON), 1)   \
  X(scan, Scan, (in, OUT, SUM, ON), 1)                                   \
  X(exscan, Exscan, (in, OUT, SUM, ON), 1)                               \
  X(gather, Gather, (IN, OUT, ROOT, ON), 1)                              \
  X(gatherv, Gatherv, (IN, OUTS, ROOT, ON), 0)                           \
  X(scatter, Scatter, (IN, OUT, ROOT, ON), 1)                            \
  X(scatterv, Scatterv, (INS, OUT, ROOT, ON), 0)                         \
  X(allgather, Allgather, (IN, OUT, ON), 1)                              \
  X(allgatherv, Allgatherv, (IN, OUTS, ON), 0)                           \
  X(alltoall, Alltoall, (IN, OUT, ON), 1)                                \
  X(alltoallv, Alltoallv, (INS, OUTS, ON), 0)

#ifdef FORTRAN
/* As in Fortran, the prototypes declare no parameters. */
#define DECLARE(name, c, arguments, may_be_empty) void mpi_##name##_();
COLLECTIVES(DECLARE)
#endif

#define FUNCTION(name, c, arguments, may_be_empty) \
  static void name(void) { CALL(c, name) arguments; }
COLLECTIVES(FUNCTION)

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Uses the fastest of many rounds: other work on the machine only adds time. */
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

static void print_times(int rank, const char *name, void (*call)(void), int may_be_empty) {
  char line[200], empty[40] = "";
  const double taken = call_ns(call), alone = passed_ns(call, MPI_COMM_SELF, block);
  if (may_be_empty) snprintf(empty, sizeof empty, ", \"empty\": %.1f", passed_ns(call, MPI_COMM_WORLD, 0));
  const int length =
      snprintf(line, sizeof line, "{\"rank\": %d, \"collective\": \"%s\", \"taken\": %.1f, \"alone\": %.1f%s}\n", rank,
               name, taken, alone, empty);
  /* Prints the line with one write: ranks may share a pipe. */
  if (write(STDOUT_FILENO, line, (size_t)length) != length) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Ranks measure one after the other: two hardware threads of a core would slow each other down. */
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
#define MEASURE(name, c, arguments, may_be_empty) print_times(rank, #name, name, may_be_empty);
  /* The first call creates the state of the communicator and is collective. */
  MPI_Barrier(MPI_COMM_WORLD);
  await_turn(rank);
  COLLECTIVES(MEASURE)
  if (rank + 1 < ranks) PMPI_Send(NULL, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
