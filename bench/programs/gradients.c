/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data-parallel training: every rank has samples of its own and a copy of the model, and in each step all add up their
 * gradients. The model is one weight for each of many features, of which a sample has a few; so gradients are long, and
 * what counts is the allreduce of megabytes. Plain MPI.
 *
 *   mpirun -n 2 gradients [features] [steps] [bucket]
 *
 * Gradients go in buckets of so many numbers, as training frameworks send them. Weights and gradients are whole numbers,
 * in units of 1/65536, so every correct MPI gives the same bits. The samples are the same for any number of ranks, and
 * come from a known model that the training has to find.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"

enum { ONE = 1 << 16, FEATURES_OF_A_SAMPLE = 8 };

static int rank, ranks;

static void fail(const char *what) {
  fprintf(stderr, "gradients: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 31) * 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}

/* The model to find: weights from -2 to 2. */
static int32_t truth(int feature) { return (int32_t)(mix((uint64_t)feature + 12345) % (4 * ONE)) - 2 * ONE; }

/* Feature k of a sample. Each one occurs in some sample, since the first is the sample's own number. */
static int feature_of(int sample, int k, int features) {
  return k == 0 ? sample % features : (int)(mix((uint64_t)sample * 64 + (uint64_t)k) % (uint64_t)features);
}

/* Adds the gradients of this rank's samples; returns the sum of their absolute errors. */
static int64_t work(const int32_t *weights, int32_t *gradient, int features) {
  int64_t error_sum = 0;
  memset(gradient, 0, (size_t)features * sizeof *gradient);
  for (int sample = rank; sample < features; sample += ranks) {
    int64_t error = 0;
    for (int k = 0; k < FEATURES_OF_A_SAMPLE; k++) {
      const int feature = feature_of(sample, k, features);
      error += truth(feature) - weights[feature];
    }
    for (int k = 0; k < FEATURES_OF_A_SAMPLE; k++)
      gradient[feature_of(sample, k, features)] += (int32_t)(error / (FEATURES_OF_A_SAMPLE * FEATURES_OF_A_SAMPLE));
    error_sum += llabs(error);
  }
  return error_sum;
}

static void exchange(int32_t *gradient, int features, int bucket) {
  charge(&mine.compute);
  for (int first = 0; first < features; first += bucket) {
    const int count = features - first < bucket ? features - first : bucket;
    MPI_Allreduce(MPI_IN_PLACE, gradient + first, count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
  }
  charge(&mine.collectives);
}

/* All ranks must have the same weights, bit for bit. */
static uint64_t common_checksum(const int32_t *weights, int features) {
  uint64_t ends[2] = {0, 0};
  for (int i = 0; i < features; i++) ends[0] += mix((uint64_t)(uint32_t)weights[i] + (uint64_t)i * 0x9e3779b97f4a7c15u);
  ends[1] = ~ends[0];
  MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (ends[0] != ~ends[1]) fail("WRONG: ranks have different weights");
  return ends[0];
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int features = argc > 1 ? atoi(argv[1]) : 1 << 18, steps = argc > 2 ? atoi(argv[2]) : 40;
  const int bucket = argc > 3 ? atoi(argv[3]) : features;
  if (argc > 4 || features < 1 || steps < 1 || bucket < 1) fail("usage: gradients [features] [steps] [bucket]");
  int32_t *weights = calloc((size_t)features, sizeof *weights), *gradient = malloc((size_t)features * sizeof *gradient);
  if (weights == NULL || gradient == NULL) fail("out of memory");
  MPI_Bcast(weights, features, MPI_INT32_T, 0, MPI_COMM_WORLD);
  int64_t errors[2] = {0, 0}; /* at first, and at last */
  start_clock();
  for (int step = 0; step < steps; step++) {
    const int64_t error = work(weights, gradient, features);
    if (step == 0) errors[0] = error;
    errors[1] = error;
    exchange(gradient, features, bucket);
    for (int i = 0; i < features; i++) weights[i] += gradient[i];
  }
  charge(&mine.compute);
  MPI_Allreduce(MPI_IN_PLACE, errors, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  const struct clock sum = sum_clocks();
  const uint64_t checksum = common_checksum(weights, features);
  const int learnt = steps < 10 || errors[1] < errors[0] / 2;
  if (rank == 0) {
    printf("trained  %d weights in %d steps, error %.4f a sample at first, %.4f at last\n", features, steps,
           (double)errors[0] / ONE / features, (double)errors[1] / ONE / features);
    printf("checksum %016" PRIx64 ", the same at all ranks\n", checksum);
    if (!learnt) printf("WRONG: the error did not even halve\n");
    print_clocks(sum, ranks);
  }
  free(weights);
  free(gradient);
  MPI_Finalize();
  return !learnt;
}
