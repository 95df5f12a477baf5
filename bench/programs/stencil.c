/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat on a plate that is refined in time where it changes fast, as adaptive-mesh codes do: in every step all ranks agree
 * on the level of refinement, take that many substeps, and agree on sums and extremes after each. So there are many
 * reductions of a few numbers, one after the other, between short pieces of work. Plain MPI.
 *
 *   mpirun -n 2 stencil [rows] [columns] [steps]
 *
 * Rows are dealt in blocks, neighbours exchange one row. Heat is counted in whole quanta that move between cells, so
 * none is ever lost, and every correct MPI gives the same bits, for any number of ranks.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"

enum { LEVELS = 4, SOURCES = 5 };

struct plate {
  int rows, columns;     /* all of it */
  int first, own;        /* this rank's rows */
  int64_t *heat, *after; /* [own + 2][columns], a neighbour's row above and below */
};

static int rank, ranks;

static void fail(const char *what) {
  fprintf(stderr, "stencil: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void agree(void *values, int count, MPI_Op op) {
  charge(&mine.compute);
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, op, MPI_COMM_WORLD);
  charge(&mine.collectives);
}

static int64_t *row(const struct plate *plate, int64_t *cells, int i) { return cells + (size_t)i * plate->columns; }

static struct plate make_plate(int rows, int columns) {
  struct plate plate = {rows, columns, rows * rank / ranks, 0, NULL, NULL};
  plate.own = rows * (rank + 1) / ranks - plate.first;
  plate.heat = calloc((size_t)(plate.own + 2) * (size_t)columns, sizeof *plate.heat);
  plate.after = calloc((size_t)(plate.own + 2) * (size_t)columns, sizeof *plate.after);
  if (plate.heat == NULL || plate.after == NULL) fail("out of memory");
  for (int s = 0; s < SOURCES; s++) {
    const int i = rows * (2 * s + 1) / (2 * SOURCES), j = columns * ((3 * s) % SOURCES + 1) / (SOURCES + 1);
    if (i >= plate.first && i < plate.first + plate.own)
      row(&plate, plate.heat, i - plate.first + 1)[j] = INT64_C(1) << (30 + s);
  }
  return plate;
}

/* Point to point: not what is measured. */
static void exchange_edges(struct plate *plate) {
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  const int n = plate->columns;
  MPI_Sendrecv(row(plate, plate->heat, 1), n, MPI_INT64_T, above, 0, row(plate, plate->heat, plate->own + 1), n,
               MPI_INT64_T, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(row(plate, plate->heat, plate->own), n, MPI_INT64_T, below, 1, row(plate, plate->heat, 0), n,
               MPI_INT64_T, above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Quanta that move from one cell to the next; the same number seen from both. */
static int64_t flow(int64_t from, int64_t to) { return (from - to) / 8; }

static void substep(struct plate *plate) {
  const int n = plate->columns;
  for (int i = 1; i <= plate->own; i++) {
    const int64_t *up = row(plate, plate->heat, i - 1), *here = row(plate, plate->heat, i);
    const int64_t *down = row(plate, plate->heat, i + 1);
    const int has_up = plate->first + i - 1 > 0, has_down = plate->first + i < plate->rows;
    int64_t *to = row(plate, plate->after, i);
    for (int j = 0; j < n; j++)
      to[j] = here[j] - (j > 0 ? flow(here[j], here[j - 1]) : 0) - (j < n - 1 ? flow(here[j], here[j + 1]) : 0) -
              (has_up ? flow(here[j], up[j]) : 0) - (has_down ? flow(here[j], down[j]) : 0);
  }
  int64_t *swap = plate->heat;
  plate->heat = plate->after;
  plate->after = swap;
}

static int level_of(int64_t steepest) {
  int level = 0;
  while (level < LEVELS - 1 && steepest >> (14 + 4 * level) != 0) level++;
  return level;
}

/* Cells by their level of refinement; the sums over the plate decide where it is steep. */
static int64_t count_levels(struct plate *plate, int64_t cells[LEVELS]) {
  int64_t steepest = 0;
  memset(cells, 0, LEVELS * sizeof *cells);
  for (int i = 1; i <= plate->own; i++) {
    const int64_t *here = row(plate, plate->heat, i);
    for (int j = 1; j < plate->columns; j++) {
      const int64_t slope = llabs(here[j] - here[j - 1]);
      steepest = slope > steepest ? slope : steepest;
      cells[level_of(slope)]++;
    }
  }
  return steepest;
}

struct summary {
  int64_t heat, hottest, substeps, refined;
  uint64_t checksum;
};

static struct summary run(struct plate *plate, int steps) {
  struct summary all = {0, 0, 0, 0, 0};
  for (int step = 0; step < steps; step++) {
    int64_t cells[LEVELS], steepest = count_levels(plate, cells);
    agree(&steepest, 1, MPI_MAX);
    agree(cells, LEVELS, MPI_SUM);
    for (int l = 1; l < LEVELS; l++) all.refined += cells[l];
    for (int left = 1 << level_of(steepest); left > 0; left--, all.substeps++) {
      exchange_edges(plate);
      substep(plate);
      int64_t heat = 0, hottest = 0;
      for (int i = 1; i <= plate->own; i++)
        for (int j = 0; j < plate->columns; j++) {
          const int64_t here = row(plate, plate->heat, i)[j];
          heat += here;
          hottest = here > hottest ? here : hottest;
        }
      agree(&heat, 1, MPI_SUM);
      agree(&hottest, 1, MPI_MAX);
      if (all.heat != 0 && heat != all.heat) fail("WRONG: heat was lost");
      all.heat = heat;
      all.hottest = hottest;
    }
  }
  for (int i = 1; i <= plate->own; i++)
    for (int j = 0; j < plate->columns; j++) {
      const uint64_t at = (uint64_t)(plate->first + i) * (uint64_t)plate->columns + (uint64_t)j;
      all.checksum += ((uint64_t)row(plate, plate->heat, i)[j] ^ at * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    }
  MPI_Allreduce(MPI_IN_PLACE, &all.checksum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rows = argc > 1 ? atoi(argv[1]) : 96, columns = argc > 2 ? atoi(argv[2]) : 64;
  const int steps = argc > 3 ? atoi(argv[3]) : 1500;
  if (argc > 4 || rows < ranks || columns < 2 || steps < 1) fail("usage: stencil [rows] [columns] [steps]");
  struct plate plate = make_plate(rows, columns);
  MPI_Barrier(MPI_COMM_WORLD);
  start_clock();
  const struct summary all = run(&plate, steps);
  charge(&mine.compute);
  const struct clock sum = sum_clocks();
  int64_t expected = 0;
  for (int s = 0; s < SOURCES; s++) expected += INT64_C(1) << (30 + s);
  if (rank == 0) {
    printf("plate    %d x %d cells, %d steps, %" PRId64 " substeps, %" PRId64 " refined cells\n", rows, columns, steps,
           all.substeps, all.refined);
    printf("heat     %" PRId64 " of %" PRId64 " quanta, %" PRId64 " in the hottest cell, checksum %016" PRIx64 "\n",
           all.heat, expected, all.hottest, all.checksum);
    if (all.heat != expected) printf("WRONG: heat was lost\n");
    print_clocks(sum, ranks);
  }
  free(plate.heat);
  free(plate.after);
  MPI_Finalize();
  return all.heat != expected;
}
