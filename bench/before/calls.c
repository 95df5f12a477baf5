/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times blocking and non-blocking collectives of the C API between processes that it forks and pins. It uses coll.h
 * and bench/lockstep only, so the same source measures any two builds of the library; see driver/before.py.
 *
 *   calls COLLECTIVE RANKS SECONDS ordinary|mapped BYTES...
 *
 * "ibcast" is coll_ibcast() followed by coll_wait(). BYTES is the size of the vector, or of one rank's block, and 0
 * for a barrier. Prints one JSON line per size. An iteration: every rank rewrites its input; all start at one
 * instant; [timed: the call, and a read of each cache line of the result]. The slowest rank's time counts;
 * time_us is the mean of the middle half of all iterations. The result of the last iteration is checked.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll/coll.h"
#include "lockstep.h"

enum kind {
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
  SCATTERV,
  GATHERV,
  ALLGATHERV,
  ALLTOALLV,
  REDUCE_SCATTERV,
  KINDS
};
static const char *const kind_name[KINDS] = {
    "barrier",        "bcast", "reduce", "allreduce", "scatter", "gather",     "allgather", "alltoall",
    "reduce_scatter", "scan",  "exscan", "scatterv",  "gatherv", "allgatherv", "alltoallv", "reduce_scatterv"};

/* Bootstrap data is exchanged in pieces of this size. */
enum { EXCHANGE_BYTES = 1 << 16 };
/* The input repeats with a prime period, so that a block in the wrong place has the wrong contents. */
enum { PERIOD = 509 };

struct options {
  const char *name;
  enum kind kind;
  int nonblocking, ranks, mapped, sizes;
  double seconds;
  char **size;
};

struct rank {
  const struct options *options;
  int rank;
  struct lockstep *step;
  char *exchange; /* [ranks][EXCHANGE_BYTES], shared by all ranks */
  coll_comm *comm;
  float *in, *out;
  size_t count; /* elements of the vector or of a block */
  size_t counts[LOCKSTEP_MAX_RANKS], displs[LOCKSTEP_MAX_RANKS];
  unsigned seed;
};

static void fail(const struct rank *r, const char *what) {
  fprintf(stderr, "rank %d: %s: %s\n", r->rank, r->options->name, what);
  exit(1);
}

/* ---- the collectives -------------------------------------------------------------------------------------------- */

static coll_status call(const struct rank *r) {
  const coll_datatype type = COLL_FLOAT;
  const coll_op op = COLL_SUM;
  switch (r->options->kind) {
    case BARRIER: return coll_barrier(r->comm);
    case BCAST: return coll_bcast(r->rank == 0 ? r->in : r->out, r->count, type, 0, r->comm);
    case REDUCE: return coll_reduce(r->in, r->out, r->count, type, op, 0, r->comm);
    case ALLREDUCE: return coll_allreduce(r->in, r->out, r->count, type, op, r->comm);
    case SCATTER: return coll_scatter(r->in, r->out, r->count, type, 0, r->comm);
    case GATHER: return coll_gather(r->in, r->out, r->count, type, 0, r->comm);
    case ALLGATHER: return coll_allgather(r->in, r->out, r->count, type, r->comm);
    case ALLTOALL: return coll_alltoall(r->in, r->out, r->count, type, r->comm);
    case REDUCE_SCATTER: return coll_reduce_scatter_block(r->in, r->out, r->count, type, op, r->comm);
    case SCAN: return coll_scan(r->in, r->out, r->count, type, op, r->comm);
    case EXSCAN: return coll_exscan(r->in, r->out, r->count, type, op, r->comm);
    case SCATTERV: return coll_scatterv(r->in, r->counts, r->displs, r->out, r->count, type, 0, r->comm);
    case GATHERV: return coll_gatherv(r->in, r->count, r->out, r->counts, r->displs, type, 0, r->comm);
    case ALLGATHERV: return coll_allgatherv(r->in, r->count, r->out, r->counts, r->displs, type, r->comm);
    case ALLTOALLV: return coll_alltoallv(r->in, r->counts, r->displs, r->out, r->counts, r->displs, type, r->comm);
    case REDUCE_SCATTERV: return coll_reduce_scatter(r->in, r->out, r->counts, type, op, r->comm);
    default: return COLL_ERR_ARG;
  }
}

static coll_status start(const struct rank *r, coll_request **q) {
  const coll_datatype type = COLL_FLOAT;
  const coll_op op = COLL_SUM;
  switch (r->options->kind) {
    case BARRIER: return coll_ibarrier(r->comm, q);
    case BCAST: return coll_ibcast(r->rank == 0 ? r->in : r->out, r->count, type, 0, r->comm, q);
    case REDUCE: return coll_ireduce(r->in, r->out, r->count, type, op, 0, r->comm, q);
    case ALLREDUCE: return coll_iallreduce(r->in, r->out, r->count, type, op, r->comm, q);
    case SCATTER: return coll_iscatter(r->in, r->out, r->count, type, 0, r->comm, q);
    case GATHER: return coll_igather(r->in, r->out, r->count, type, 0, r->comm, q);
    case ALLGATHER: return coll_iallgather(r->in, r->out, r->count, type, r->comm, q);
    case ALLTOALL: return coll_ialltoall(r->in, r->out, r->count, type, r->comm, q);
    case REDUCE_SCATTER: return coll_ireduce_scatter_block(r->in, r->out, r->count, type, op, r->comm, q);
    case SCAN: return coll_iscan(r->in, r->out, r->count, type, op, r->comm, q);
    case EXSCAN: return coll_iexscan(r->in, r->out, r->count, type, op, r->comm, q);
    case SCATTERV: return coll_iscatterv(r->in, r->counts, r->displs, r->out, r->count, type, 0, r->comm, q);
    case GATHERV: return coll_igatherv(r->in, r->count, r->out, r->counts, r->displs, type, 0, r->comm, q);
    case ALLGATHERV: return coll_iallgatherv(r->in, r->count, r->out, r->counts, r->displs, type, r->comm, q);
    case ALLTOALLV: return coll_ialltoallv(r->in, r->counts, r->displs, r->out, r->counts, r->displs, type, r->comm, q);
    case REDUCE_SCATTERV: return coll_ireduce_scatter(r->in, r->out, r->counts, type, op, r->comm, q);
    default: return COLL_ERR_ARG;
  }
}

static int blocks_sent(const struct options *options) {
  switch (options->kind) {
    case SCATTER:
    case ALLTOALL:
    case REDUCE_SCATTER:
    case SCATTERV:
    case ALLTOALLV:
    case REDUCE_SCATTERV: return options->ranks;
    default: return 1;
  }
}

static int blocks_received(const struct options *options) {
  switch (options->kind) {
    case GATHER:
    case ALLGATHER:
    case ALLTOALL:
    case GATHERV:
    case ALLGATHERV:
    case ALLTOALLV: return options->ranks;
    default: return 1;
  }
}

static int has_result(const struct rank *r) {
  switch (r->options->kind) {
    case BARRIER: return 0;
    case BCAST:
    case EXSCAN: return r->rank != 0;
    case REDUCE:
    case GATHER:
    case GATHERV: return r->rank == 0;
    default: return 1;
  }
}

/* ---- inputs and results ----------------------------------------------------------------------------------------- */

/* Element `at` of the input of one rank; sums over 64 ranks are exact in a float. */
static float element(size_t at, unsigned seed, int rank) {
  return (float)((at % PERIOD * 3 + (size_t)seed * 7 + (size_t)rank * 29) & 255);
}

/* Rewrites the input, so that its cache lines are dirty in this rank's core. */
static void alter(struct rank *r) {
  float block[PERIOD];
  const size_t count = r->count * (size_t)blocks_sent(r->options);
  r->seed++;
  for (size_t j = 0; j < PERIOD; j++) block[j] = element(j, r->seed, r->rank);
  for (size_t at = 0; at < count; at += PERIOD)
    memcpy(r->in + at, block, (count - at < PERIOD ? count - at : PERIOD) * sizeof *block);
}

static int64_t wrong_in(const struct rank *r, const float *out, int first_rank, int last_rank, size_t from) {
  int64_t wrong = 0;
  for (size_t i = 0; i < r->count; i++) {
    float sum = 0;
    for (int rank = first_rank; rank <= last_rank; rank++) sum += element(from + i, r->seed, rank);
    wrong += out[i] != sum;
  }
  return wrong;
}

static int64_t count_wrong(const struct rank *r) {
  const int last = r->options->ranks - 1;
  const size_t own = r->count * (size_t)r->rank; /* where this rank's block is in the buffers of others */
  int64_t wrong = 0;
  if (!has_result(r)) return 0;
  switch (r->options->kind) {
    case BCAST: return wrong_in(r, r->out, 0, 0, 0);
    case SCATTER:
    case SCATTERV: return wrong_in(r, r->out, 0, 0, own);
    case REDUCE:
    case ALLREDUCE: return wrong_in(r, r->out, 0, last, 0);
    case REDUCE_SCATTER:
    case REDUCE_SCATTERV: return wrong_in(r, r->out, 0, last, own);
    case SCAN: return wrong_in(r, r->out, 0, r->rank, 0);
    case EXSCAN: return wrong_in(r, r->out, 0, r->rank - 1, 0);
    default: break;
  }
  for (int sender = 0; sender <= last; sender++)
    wrong += wrong_in(r, r->out + r->count * (size_t)sender, sender, sender, blocks_sent(r->options) > 1 ? own : 0);
  return wrong;
}

/* Reads one word of each cache line, as a program that uses the result does. */
static void look_through(const float *memory, size_t count) {
  unsigned sum = 0, word;
  for (size_t at = 0; at < count; at += 64 / sizeof *memory) {
    memcpy(&word, memory + at, sizeof word);
    sum ^= word;
  }
  __asm__ volatile("" : : "r"(sum));
}

/* ---- measuring -------------------------------------------------------------------------------------------------- */

static void iterate(struct rank *r, int iteration) {
  coll_request *request = NULL;
  alter(r);
  lockstep_start(r->step);
  const uint64_t begin = lockstep_ticks();
  coll_status status = r->options->nonblocking ? start(r, &request) : call(r);
  if (status == COLL_OK && r->options->nonblocking) status = coll_wait(&request);
  if (status != COLL_OK) fail(r, coll_last_error());
  if (has_result(r)) look_through(r->out, r->count * (size_t)blocks_received(r->options));
  lockstep_record(r->step, iteration, begin, lockstep_ticks());
}

static int rehearse(void *context) {
  iterate(context, 0);
  return 0;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The mean of the middle half: as robust as the median, but not quantised where the clock's steps are long. */
static double middle_mean(double *us, size_t count) {
  double sum = 0;
  qsort(us, count, sizeof *us, ascending);
  for (size_t i = count / 4; i < count - count / 4; i++) sum += us[i];
  return sum / (double)(count - count / 4 * 2);
}

static void run_cell(struct rank *r, size_t bytes) {
  static double us[LOCKSTEP_MAX_ITERATIONS];
  r->count = bytes / sizeof(float);
  for (int i = 0; i < r->options->ranks; i++) {
    r->counts[i] = r->count;
    r->displs[i] = r->count * (size_t)i;
  }
  int64_t iterations = lockstep_rehearse(r->step, r->options->seconds, rehearse, r);
  iterations = iterations < 5 ? 5 : iterations > LOCKSTEP_MAX_ITERATIONS ? LOCKSTEP_MAX_ITERATIONS : iterations;
  const double before = lockstep_flag_ns(r->step);
  for (int i = 0; i < (int)iterations; i++) iterate(r, i);
  const double after = lockstep_flag_ns(r->step);
  const int64_t wrong = lockstep_sum(r->step, count_wrong(r));
  if (r->rank != 0) return;
  for (int i = 0; i < (int)iterations; i++)
    us[i] = (double)lockstep_duration(r->step, i) * lockstep_ns_per_tick() / 1000;
  printf(
      "{\"collective\": \"%s\", \"bytes\": %zu, \"ranks\": %d, \"iterations\": %d, \"time_us\": %.4f, "
      "\"wrong\": %lld, \"flag_ns_before\": %.1f, \"flag_ns_after\": %.1f}\n",
      r->options->name, bytes, r->options->ranks, (int)iterations, middle_mean(us, (size_t)iterations),
      (long long)wrong, before, after);
  fflush(stdout);
}

/* The bootstrap of coll_comm_create(): an allgather through shared memory. */
static int allgather(const void *send, void *recv, size_t bytes, void *context) {
  struct rank *r = context;
  for (size_t at = 0; at < bytes; at += EXCHANGE_BYTES) {
    const size_t part = bytes - at < EXCHANGE_BYTES ? bytes - at : EXCHANGE_BYTES;
    memcpy(r->exchange + (size_t)r->rank * EXCHANGE_BYTES, (const char *)send + at, part);
    lockstep_sum(r->step, 0);
    for (int i = 0; i < r->options->ranks; i++)
      memcpy((char *)recv + (size_t)i * bytes + at, r->exchange + (size_t)i * EXCHANGE_BYTES, part);
    lockstep_sum(r->step, 0);
  }
  return 0;
}

static float *allocate(const struct rank *r, size_t bytes) {
  void *memory = NULL;
  if (!r->options->mapped) memory = malloc(bytes);
  else if (coll_mem_alloc(bytes, &memory) != COLL_OK) fail(r, coll_last_error());
  if (!memory) fail(r, "not enough memory for the buffers; use smaller sizes");
  memset(memory, 1, bytes);
  return memory;
}

static void run_rank(const struct options *options, int rank, void *segment, char *exchange, int spin) {
  struct rank r = {.options = options, .rank = rank, .exchange = exchange};
  size_t largest = 64;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  lockstep_pin(rank, options->ranks);
  r.step = lockstep_attach(segment, rank, options->ranks, spin);
  if (!r.step) fail(&r, "not enough memory for the clocks");
  const coll_bootstrap bootstrap = {sizeof bootstrap, rank, options->ranks, allgather, &r};
  if (coll_comm_create(&bootstrap, &r.comm) != COLL_OK) fail(&r, coll_last_error());
  for (int i = 0; i < options->sizes; i++) {
    const size_t bytes = strtoull(options->size[i], NULL, 10);
    largest = bytes > largest ? bytes : largest;
  }
  r.in = allocate(&r, largest * (size_t)blocks_sent(options));
  r.out = allocate(&r, largest * (size_t)blocks_received(options));
  lockstep_warm();
  for (int i = 0; i < options->sizes; i++) run_cell(&r, strtoull(options->size[i], NULL, 10));
  coll_comm_free(r.comm);
  exit(0);
}

/* Returns 1 when a rank failed, and ends the others, which would wait for it without end. */
static int wait_for(const pid_t *pids, int ranks) {
  int status, failed = 0;
  for (int left = ranks; left > 0; left--) {
    waitpid(-1, &status, 0);
    if (!failed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
      failed = 1;
      for (int i = 0; i < ranks; i++) kill(pids[i], SIGKILL);
    }
  }
  return failed;
}

static int parse(struct options *options, int argc, char **argv) {
  if (argc < 6) return -1;
  *options = (struct options){.name = argv[1],
                              .kind = KINDS,
                              .ranks = atoi(argv[2]),
                              .seconds = atof(argv[3]),
                              .mapped = strcmp(argv[4], "mapped") == 0,
                              .sizes = argc - 5,
                              .size = argv + 5};
  for (int kind = 0; kind < KINDS; kind++) {
    const int nonblocking = argv[1][0] == 'i' && strcmp(argv[1] + 1, kind_name[kind]) == 0;
    if (!nonblocking && strcmp(argv[1], kind_name[kind]) != 0) continue;
    options->kind = (enum kind)kind;
    options->nonblocking = nonblocking;
  }
  return options->kind == KINDS || options->ranks < 1 || options->ranks > LOCKSTEP_MAX_RANKS || options->seconds <= 0;
}

int main(int argc, char **argv) {
  struct options options;
  if (parse(&options, argc, argv) != 0) {
    fprintf(stderr, "usage: %s COLLECTIVE RANKS SECONDS ordinary|mapped BYTES...\n", argv[0]);
    return 2;
  }
  const size_t bytes = lockstep_segment_bytes();
  char *segment = mmap(NULL, bytes + (size_t)options.ranks * EXCHANGE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (segment == MAP_FAILED) {
    perror("shared memory for the ranks");
    return 1;
  }
  cpu_set_t allowed;
  const int spin = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) >= options.ranks;
  pid_t pids[LOCKSTEP_MAX_RANKS];
  lockstep_ns_per_tick(); /* measured once; the ranks inherit it */
  for (int rank = 0; rank < options.ranks; rank++) {
    pids[rank] = fork();
    if (pids[rank] == 0) run_rank(&options, rank, segment, segment + bytes, spin);
    if (pids[rank] < 0) {
      perror("fork");
      for (int i = 0; i < rank; i++) kill(pids[i], SIGKILL);
      return 1;
    }
  }
  return wait_for(pids, options.ranks);
}
