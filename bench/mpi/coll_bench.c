/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times the collectives of the MPI library that it is linked with, or of a preloaded shim. Rank 0 writes one JSON line
 * per collective and size; sizes are of the vector, or of the block that one rank has for one other.
 *
 * One iteration: every rank rewrites its input (so its lines are dirty in its own core), all start at one
 * instant, [the clock runs] the collective is called and each rank that has a result reads one word of each of its
 * lines [the clock stops], and the whole result is compared with what it must be. The time of an iteration is
 * the slowest rank's own duration; with more ranks than processors, which cannot start together, it is the time from
 * the first one's start to the last one's end. The sum is of floats with small whole values, hence exact in any order.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collectives.h"
#include "limit.h"
#include "ranks.h"
#include "two_copies.h"

enum { LINE_BYTES = 64, MAX_SIZES = 64 };
static const char *const collective_name[COLLECTIVES] = {"barrier",        "bcast",  "reduce",    "allreduce",
                                                         "scatter",        "gather", "allgather", "alltoall",
                                                         "reduce_scatter", "scan",   "exscan"};

struct options {
  int run[COLLECTIVES];
  size_t sizes[MAX_SIZES];
  int size_count;
  int root;
  int huge_pages;
  int mpi_memory;                              /* from MPI_Alloc_mem */
  enum { MPI_CODE, DIRECT, TWO_COPIES } limit; /* hand-written code instead of MPI's */
  int min_iterations, max_iterations;
  double cell_ms, max_seconds;
};

struct bench {
  struct options options;
  struct lockstep *step;
  struct limit *limit;
  struct two_copies *two_copies;
  int variant; /* of the limit */
  int rank, ranks;
  float *in, *out; /* [ranks][largest size] bytes each */
  int64_t seed;    /* iterations so far: each has other input */
  int64_t wrong;   /* wrong elements in this rank's results */
  int cell;        /* measured cells so far */
};

static volatile uint32_t sink;

static void usage(const char *program, int rank) {
  if (rank == 0)
    fprintf(stderr,
            "usage: %s [--collectives barrier,bcast,...] [--sizes 4-16M | 4,1K,64K] [--root R]\n"
            "          [--cell-ms M] [--min-iterations N] [--max-iterations N] [--max-seconds S] [--pages 4k|2m]\n"
            "          [--memory malloc|mpi] [--limit direct|2copy]\n",
            program);
  MPI_Finalize();
  exit(2);
}

static size_t parse_size(const char *text, char **end) {
  size_t value = strtoull(text, end, 10);
  switch (**end) {
    case 'k':
    case 'K': ++*end; return value << 10;
    case 'm':
    case 'M': ++*end; return value << 20;
    default: return value;
  }
}

/* "4-16M" is every power of four between; otherwise a comma-separated list. Sizes are whole floats. */
static int parse_sizes(struct options *options, const char *text) {
  char *end;
  options->size_count = 0;
  for (;;) {
    size_t from = parse_size(text, &end), to = *end == '-' ? parse_size(end + 1, &end) : from;
    if (from < sizeof(float) || to < from || to > ((size_t)1 << 30)) return -1;
    for (size_t bytes = from; bytes <= to; bytes *= 4) {
      if (options->size_count == MAX_SIZES) return -1;
      options->sizes[options->size_count++] = bytes / sizeof(float) * sizeof(float);
    }
    if (*end == '\0') return 0;
    if (*end != ',') return -1;
    text = end + 1;
  }
}

static int parse_collectives(struct options *options, const char *text) {
  memset(options->run, 0, sizeof options->run);
  while (*text) {
    size_t length = strcspn(text, ",");
    int known = 0;
    for (int i = 0; i < COLLECTIVES; i++)
      if (strlen(collective_name[i]) == length && strncmp(text, collective_name[i], length) == 0)
        options->run[i] = known = 1;
    if (!known) return -1;
    text += length + (text[length] == ',');
  }
  return 0;
}

static struct options parse(int argc, char **argv, int rank, int ranks) {
  static const struct option names[] = {{"collectives", 1, 0, 'c'},
                                        {"sizes", 1, 0, 's'},
                                        {"root", 1, 0, 'r'},
                                        {"cell-ms", 1, 0, 'm'},
                                        {"max-seconds", 1, 0, 'S'},
                                        {"min-iterations", 1, 0, 'n'},
                                        {"max-iterations", 1, 0, 'N'},
                                        {"pages", 1, 0, 'p'},
                                        {"memory", 1, 0, 'M'},
                                        {"limit", 1, 0, 'l'},
                                        {0, 0, 0, 0}};
  struct options options = {.run = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                            .cell_ms = 60,
                            .max_seconds = 1e9,
                            .min_iterations = 5,
                            .max_iterations = 2000};
  int bad = parse_sizes(&options, "4-16M");
  for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    switch (c) {
      case 'c': bad |= parse_collectives(&options, optarg); break;
      case 's': bad |= parse_sizes(&options, optarg); break;
      case 'r': options.root = atoi(optarg); break;
      case 'm': options.cell_ms = atof(optarg); break;
      case 'S': options.max_seconds = atof(optarg); break;
      case 'n': options.min_iterations = atoi(optarg); break;
      case 'N': options.max_iterations = atoi(optarg); break;
      case 'p': options.huge_pages = strcmp(optarg, "2m") == 0; break;
      case 'M':
        options.mpi_memory = strcmp(optarg, "mpi") == 0;
        bad |= !options.mpi_memory && strcmp(optarg, "malloc") != 0 ? -1 : 0;
        break;
      case 'l':
        options.limit = strcmp(optarg, "direct") == 0 ? DIRECT : TWO_COPIES;
        bad |= options.limit == TWO_COPIES && strcmp(optarg, "2copy") != 0 ? -1 : 0;
        break;
      default: bad = -1;
    }
  }
  if (bad || optind < argc || (options.limit == TWO_COPIES && ranks != 2) || options.root < 0 ||
      options.root >= ranks || options.min_iterations < 1 || options.max_iterations > LOCKSTEP_MAX_ITERATIONS ||
      options.max_iterations < options.min_iterations)
    usage(argv[0], rank);
  return options;
}

/* Returns touched memory from malloc(); with --pages 2m, with huge pages requested; or from MPI_Alloc_mem(). */
static float *allocate(size_t bytes, const struct options *options) {
  const int huge_pages = options->huge_pages && !options->mpi_memory;
  size_t huge = (size_t)2 << 20;
  float *memory = NULL;
  if (options->mpi_memory) MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
  else memory = huge_pages ? aligned_alloc(huge, (bytes + huge - 1) / huge * huge) : malloc(bytes);
  if (!memory) {
    fprintf(stderr, "no memory for a buffer of %zu bytes: give smaller --sizes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (huge_pages) madvise(memory, bytes, MADV_HUGEPAGE);
  memset(memory, 1, bytes);
  return memory;
}

/*
 * A rank's input: whole numbers below 256 that repeat, so that whole blocks are copied and compared: in a long
 * gap between two calls other programs use the shared cache. The period is prime: a chunk in a wrong place is detected.
 */
enum { PERIOD = 509 };

/* Sets at most PERIOD elements, from element `from` on, to one rank's input or to the sum over several ranks. */
static void make_block(float *block, size_t count, int64_t seed, int first_rank, int ranks, size_t from) {
  for (size_t j = 0; j < count && j < PERIOD; j++) {
    int sum = 0;
    for (int rank = first_rank; rank < first_rank + ranks; rank++)
      sum += (int)(((from + j) % PERIOD * 3 + (size_t)seed * 7 + (size_t)rank * 29) & 255);
    block[j] = (float)sum;
  }
}

static size_t block_at(size_t at, size_t count) { return count - at < PERIOD ? count - at : PERIOD; }

static void alter(float *in, size_t count, int64_t seed, int rank) {
  float block[PERIOD];
  make_block(block, count, seed, rank, 1, 0);
  for (size_t at = 0; at < count; at += PERIOD) memcpy(in + at, block, block_at(at, count) * sizeof *in);
}

/* Returns how many elements of `out` differ from the input of one rank, or the sum over several, from element `from` on. */
static int64_t count_wrong(const float *out, size_t count, int64_t seed, int first_rank, int ranks, size_t from) {
  float expected[PERIOD];
  int64_t wrong = 0;
  make_block(expected, count, seed, first_rank, ranks, from);
  for (size_t at = 0; at < count; at += PERIOD) {
    const size_t length = block_at(at, count);
    if (memcmp(out + at, expected, length * sizeof *out) == 0) continue;
    for (size_t j = 0; j < length; j++) wrong += out[at + j] != expected[j];
  }
  return wrong;
}

static void read_lines(const void *result, size_t bytes) {
  const uint32_t *word = result;
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes / sizeof *word; i += LINE_BYTES / sizeof *word) sum ^= word[i];
  sink = sum;
}

/* Returns whether the buffer holds one block per rank. */
static int has_blocks_in(enum collective which) {
  return which == SCATTER || which == ALLTOALL || which == REDUCE_SCATTER;
}
static int has_blocks_out(enum collective which) { return which == GATHER || which == ALLGATHER || which == ALLTOALL; }

/* Returns the number of ranks whose data is in each element of this rank's result; 0: it has no result. */
static int operands(const struct bench *b, enum collective which) {
  int is_root = b->rank == b->options.root;
  switch (which) {
    case BARRIER: return 0;
    case BCAST: return !is_root;
    case REDUCE: return is_root ? b->ranks : 0;
    case GATHER: return is_root;
    case ALLREDUCE:
    case REDUCE_SCATTER: return b->ranks;
    case SCAN: return b->rank + 1;
    case EXSCAN: return b->rank;
    default: return 1;
  }
}

static void call(const struct bench *b, enum collective which, float *out, int count) {
  const float *in = b->in;
  int root = b->options.root;
  MPI_Comm world = MPI_COMM_WORLD;
  if (b->limit) {
    limit_call(b->limit, which, b->variant, root, (size_t)count);
    return;
  }
  if (b->two_copies) {
    two_copies_call(b->two_copies, which, b->variant, root, in, out, (size_t)count);
    return;
  }
  switch (which) {
    case BARRIER: MPI_Barrier(world); break;
    case BCAST: MPI_Bcast(out, count, MPI_FLOAT, root, world); break;
    case REDUCE: MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, root, world); break;
    case ALLREDUCE: MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, world); break;
    case SCATTER: MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, root, world); break;
    case GATHER: MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, root, world); break;
    case ALLGATHER: MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, world); break;
    case ALLTOALL: MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, world); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, world); break;
    case SCAN: MPI_Scan(in, out, count, MPI_FLOAT, MPI_SUM, world); break;
    default: MPI_Exscan(in, out, count, MPI_FLOAT, MPI_SUM, world); break;
  }
}

static int64_t check(const struct bench *b, enum collective which, const float *out, size_t count) {
  size_t from = has_blocks_in(which) ? (size_t)b->rank * count : 0;
  int64_t wrong = 0;
  if (!has_blocks_out(which))
    return count_wrong(out, count, b->seed, which == BCAST || which == SCATTER ? b->options.root : 0,
                       operands(b, which), from);
  for (int sender = 0; sender < b->ranks; sender++)
    wrong += count_wrong(out + (size_t)sender * count, count, b->seed, sender, 1, from);
  return wrong;
}

/* Times, records and checks one call. */
static void timed_call(struct bench *b, enum collective which, size_t bytes, int iteration) {
  size_t count = bytes / sizeof(float);
  int has_result = operands(b, which) != 0;
  float *out = which == BCAST && b->rank == b->options.root ? b->in : b->out;
  lockstep_start(b->step);
  uint64_t begin = lockstep_ticks();
  call(b, which, out, (int)count);
  if (has_result) read_lines(out, has_blocks_out(which) ? (size_t)b->ranks * bytes : bytes);
  lockstep_record(b->step, iteration, begin, lockstep_ticks());
  if (has_result) b->wrong += check(b, which, out, count);
}

static void iterate(struct bench *b, enum collective which, size_t bytes, int iteration) {
  b->seed++;
  alter(b->in, bytes / sizeof(float) * (has_blocks_in(which) ? (size_t)b->ranks : 1), b->seed, b->rank);
  timed_call(b, which, bytes, iteration);
}

struct cell {
  struct bench *bench;
  enum collective which;
  size_t bytes;
};

static int rehearse(void *context) {
  const struct cell *cell = context;
  iterate(cell->bench, cell->which, cell->bytes, 0);
  return 0;
}

/* A barrier has no result: check that no rank leaves before all ranks have entered. */
static void check_barrier(struct bench *b) {
  for (int64_t turn = 1; turn <= 200; turn++) {
    lockstep_post(b->step, turn);
    MPI_Barrier(MPI_COMM_WORLD);
    b->wrong += lockstep_least(b->step) < turn;
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_cell(const struct bench *b, enum collective which, size_t bytes, int iterations, double flag_before,
                       double flag_after, int64_t wrong) {
  static double us[LOCKSTEP_MAX_ITERATIONS];
  double us_per_tick = lockstep_ns_per_tick() / 1000;
  for (int i = 0; i < iterations; i++) us[i] = (double)lockstep_duration(b->step, i) * us_per_tick;
  qsort(us, (size_t)iterations, sizeof *us, by_value);
  printf(
      "{\"collective\":\"%s\",\"bytes\":%zu,\"ranks\":%d,\"iterations\":%d,\"median_us\":%.4f,\"p10_us\":%.4f,"
      "\"p90_us\":%.4f,\"min_us\":%.4f,\"wrong\":%lld,\"flag_ns_before\":%.1f,\"flag_ns_after\":%.1f}\n",
      collective_name[which], bytes, b->ranks, iterations, us[iterations / 2], us[iterations / 10],
      us[iterations * 9 / 10], us[0], (long long)wrong, flag_before, flag_after);
  fflush(stdout);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns the number of wrong elements in all ranks. With --limit, each variant has a row. */
static int64_t run_cell(struct bench *b, enum collective which, size_t bytes) {
  const struct options *o = &b->options;
  struct cell cell = {b, which, bytes};
  b->wrong = 0;
  if (which == BARRIER) check_barrier(b);
  int64_t wanted = lockstep_rehearse(b->step, o->cell_ms * 1e-3, rehearse, &cell);
  int iterations = wanted > o->max_iterations ? o->max_iterations : (int)wanted;
  if (iterations < o->min_iterations) iterations = o->min_iterations;
  double flag_before = lockstep_flag_ns(b->step);
  for (int i = 0; i < iterations; i++) iterate(b, which, bytes, i);
  double flag_after = lockstep_flag_ns(b->step);
  int64_t wrong = lockstep_sum(b->step, b->wrong);
  if (b->rank == 0) print_cell(b, which, bytes, iterations, flag_before, flag_after, wrong);
  return wrong;
}

static int variants_of(const struct bench *b, enum collective which, size_t bytes) {
  return b->limit ? limit_variants(which) : b->two_copies ? two_copies_variants(which, bytes) : 1;
}

static int64_t run_all(struct bench *b) {
  const struct options *o = &b->options;
  double begin = seconds();
  int64_t wrong = 0;
  for (int which = 0; which < COLLECTIVES; which++) {
    for (int i = 0; o->run[which] && i < (which == BARRIER ? 1 : o->size_count); i++) {
      if (lockstep_agree(b->step, seconds() - begin > o->max_seconds)) {
        if (b->rank == 0)
          printf("{\"stopped\":\"%s\",\"because\":\"--max-seconds %g\"}\n", collective_name[which], o->max_seconds);
        return wrong;
      }
      const int variants = variants_of(b, (enum collective)which, o->sizes[i]);
      for (b->variant = 0; b->variant < variants; b->variant++)
        wrong += run_cell(b, which, which == BARRIER ? 0 : o->sizes[i]);
    }
  }
  return wrong;
}

static void print_header(int ranks, int cpu) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n\",")] = '\0';
  for (char *c = version; *c; c++)
    if (*c == '\t') *c = ' ';
  printf("{\"library\":\"%s\",\"ranks\":%d,\"processors\":%ld,\"pinned\":%s}\n", version, ranks,
         sysconf(_SC_NPROCESSORS_ONLN), cpu >= 0 ? "true" : "false");
}

int main(int argc, char **argv) {
  int ranks_hint = 0, rank_hint = rank_from_environment(&ranks_hint);
  if (rank_hint >= 0) lockstep_pin(rank_hint, ranks_hint); /* before the library reads its affinity */
  MPI_Init(&argc, &argv);
  struct bench b = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
  int cpu = lockstep_pin(b.rank, b.ranks);
  b.options = parse(argc, argv, b.rank, b.ranks);
  const int spin = b.ranks <= (int)sysconf(_SC_NPROCESSORS_ONLN);
  b.step = open_lockstep(b.rank, b.ranks, spin);
  if (!b.step) MPI_Abort(MPI_COMM_WORLD, 1);
  size_t largest = LINE_BYTES;
  for (int i = 0; i < b.options.size_count; i++) largest = b.options.sizes[i] > largest ? b.options.sizes[i] : largest;
  size_t largest_in = largest, largest_out = largest;
  for (int which = 0; which < COLLECTIVES; which++) {
    if (b.options.run[which] && has_blocks_in(which)) largest_in = (size_t)b.ranks * largest;
    if (b.options.run[which] && has_blocks_out(which)) largest_out = (size_t)b.ranks * largest;
  }
  if (b.options.limit == DIRECT) {
    b.limit = limit_open(b.rank, b.ranks, spin, largest_in, largest_out, &b.in, &b.out);
    if (!b.limit) MPI_Abort(MPI_COMM_WORLD, 1);
  } else {
    if (b.options.limit == TWO_COPIES && !(b.two_copies = two_copies_open(b.rank, largest)))
      MPI_Abort(MPI_COMM_WORLD, 1);
    b.in = allocate(largest_in, &b.options);
    b.out = allocate(largest_out, &b.options);
  }
  if (b.rank == 0) print_header(b.ranks, cpu);
  lockstep_warm();
  int64_t wrong = run_all(&b);
  if (wrong && b.rank == 0) fprintf(stderr, "%lld elements of results were wrong\n", (long long)wrong);
  if (b.limit) {
    const double copied_gbs = limit_copy_gbs(b.limit, largest);
    if (b.rank == 0) printf("{\"copy_bytes\":%zu,\"copy_gbs\":%.3f}\n", largest, copied_gbs);
  } else if (b.options.mpi_memory) {
    MPI_Free_mem(b.in);
    MPI_Free_mem(b.out);
  } else {
    free(b.in);
    free(b.out);
  }
  lockstep_close(b.step);
  MPI_Finalize();
  return wrong ? 1 : 0;
}
