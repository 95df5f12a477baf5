/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of hand-written collectives: flags, copies, sums. */
#ifndef BENCH_MPI_BY_HAND_H
#define BENCH_MPI_BY_HAND_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void post(atomic_uint_least64_t *flag, uint64_t value) {
  atomic_store_explicit(flag, value, memory_order_release);
}
static inline void await(atomic_uint_least64_t *flag, uint64_t value) {
  while (atomic_load_explicit(flag, memory_order_acquire) < value) {}
}

static inline void copy(float *to, const float *from, size_t count) { memcpy(to, from, count * sizeof *to); }
static inline void add(float *restrict to, const float *a, const float *b, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = a[i] + b[i];
}
static inline void add_in(float *restrict to, const float *a, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] += a[i];
}

#endif
