/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "limit.h"

#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "by_hand.h"
#include "ranks.h"

enum { HUGE = 2 << 20, COPIES = 9, BLOCK = 1024 };

struct side {
  alignas(128) atomic_uint_least64_t ready; /* operations whose input is written and whose output may be overwritten */
  alignas(128) atomic_uint_least64_t done;  /* 2 * operations after which it no longer accesses other buffers */
  alignas(128) atomic_uint_least64_t ticks;
};
struct limit {
  struct side *sides;
  float **in, **out; /* [ranks], of each */
  int rank, ranks, spin;
  uint64_t operation;
};

static size_t rounded(size_t bytes) { return (bytes + HUGE - 1) / HUGE * HUGE; }

struct limit *limit_open(int rank, int ranks, int spin, size_t in_bytes, size_t out_bytes, float **in, float **out) {
  const size_t in_room = rounded(in_bytes), out_room = rounded(out_bytes);
  const size_t sides_room = rounded((size_t)ranks * sizeof(struct side));
  char *memory = open_shared_memory(rank, sides_room + (size_t)ranks * (in_room + out_room));
  struct limit *limit = calloc(1, sizeof *limit);
  float **buffers = calloc(2 * (size_t)ranks, sizeof *buffers);
  if (!memory || !limit || !buffers) return NULL;
  *limit = (struct limit){(struct side *)memory, buffers, buffers + ranks, rank, ranks, spin, 0};
  for (int r = 0; r < ranks; r++) {
    limit->in[r] = (float *)(memory + sides_room + (size_t)r * (in_room + out_room));
    limit->out[r] = (float *)((char *)limit->in[r] + in_room);
  }
  madvise(limit->in[rank], in_room + out_room, MADV_HUGEPAGE);
  memset(limit->in[rank], 1, in_room + out_room);
  *in = limit->in[rank], *out = limit->out[rank];
  return limit;
}

static void wait_for(const struct limit *l, atomic_uint_least64_t *flag, uint64_t value) {
  if (l->spin) await(flag, value);
  else
    while (atomic_load_explicit(flag, memory_order_acquire) < value) sched_yield();
}

static void add_to_both(float *restrict to, float *restrict also, const float *a, const float *b, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = also[i] = a[i] + b[i];
}

/* Sums for several buffers are computed in blocks that stay in the L1 cache. */
static void sum(float *const *to, int results, float *const *from, int operands, size_t first, size_t count) {
  if (operands == 1) {
    for (int r = 0; r < results; r++) copy(to[r] + first, from[0] + first, count);
    return;
  }
  if (operands == 2 && results == 1) {
    add(to[0] + first, from[0] + first, from[1] + first, count);
    return;
  }
  if (operands == 2 && results == 2) {
    add_to_both(to[0] + first, to[1] + first, from[0] + first, from[1] + first, count);
    return;
  }
  float block[BLOCK];
  for (size_t end = first + count; first < end; first += BLOCK) {
    const size_t length = end - first < BLOCK ? end - first : BLOCK;
    add(block, from[0] + first, from[1] + first, length);
    for (int r = 2; r < operands; r++) add_in(block, from[r] + first, length);
    for (int r = 0; r < results; r++) copy(to[r] + first, block, length);
  }
}

int limit_variants(enum collective which) {
  static const int variants[COLLECTIVES] = {
      [BARRIER] = 1,   [BCAST] = 2,    [REDUCE] = 2,         [ALLREDUCE] = 3, [SCATTER] = 2, [GATHER] = 2,
      [ALLGATHER] = 2, [ALLTOALL] = 2, [REDUCE_SCATTER] = 1, [SCAN] = 2,      [EXSCAN] = 2};
  return variants[which];
}

/* Returns the begin of a rank's part of a vector; it ends where the next part begins. */
static size_t part_begin(const struct limit *l, int rank, size_t count) {
  return count * (size_t)rank / (size_t)l->ranks;
}

/* The work between "all are ready" and "all are done". Variant 0 reads from the others if possible; variant 1 splits the
   work of the rank that has the data, or writes to the others. */
static void work(struct limit *l, enum collective which, int variant, int root, size_t count) {
  const int me = l->rank, ranks = l->ranks, is_root = me == root;
  const size_t first = part_begin(l, me, count), part = part_begin(l, me + 1, count) - first;
  const size_t own = (size_t)me * count;
  float **in = l->in, **out = l->out;
  switch (which) {
    case BARRIER: break;
    case BCAST:
      for (int r = 0; variant == 1 && r < ranks; r++)
        if (r != root) copy(out[r] + first, in[root] + first, part);
      if (variant == 0 && !is_root) copy(out[me], in[root], count);
      break;
    case REDUCE:
      if (variant == 1) sum(&out[root], 1, in, ranks, first, part);
      else if (is_root) sum(&out[root], 1, in, ranks, 0, count);
      break;
    case ALLREDUCE:
      if (variant == 0) sum(&out[me], 1, in, ranks, 0, count);
      else if (variant == 1) sum(out, ranks, in, ranks, first, part);
      else {
        sum(&out[me], 1, in, ranks, first, part);
        /* Copies the parts of the other ranks once they are ready. */
        post(&l->sides[me].done, 2 * l->operation - 1);
        for (int step = 1; step < ranks; step++) {
          const int r = (me + step) % ranks;
          const size_t begin = part_begin(l, r, count), end = part_begin(l, r + 1, count);
          wait_for(l, &l->sides[r].done, 2 * l->operation - 1);
          copy(out[me] + begin, out[r] + begin, end - begin);
        }
      }
      break;
    case SCATTER:
      for (int r = 0; variant == 1 && is_root && r < ranks; r++) copy(out[r], in[root] + (size_t)r * count, count);
      if (variant == 0) copy(out[me], in[root] + own, count);
      break;
    case GATHER:
      for (int r = 0; variant == 0 && is_root && r < ranks; r++) copy(out[root] + (size_t)r * count, in[r], count);
      if (variant == 1) copy(out[root] + own, in[me], count);
      break;
    case ALLGATHER:
      for (int step = 0; step < ranks; step++) {
        const int r = (me + step) % ranks;
        if (variant == 0) copy(out[me] + (size_t)r * count, in[r], count);
        else copy(out[r] + own, in[me], count);
      }
      break;
    case ALLTOALL:
      for (int step = 0; step < ranks; step++) {
        const int r = (me + step) % ranks;
        if (variant == 0) copy(out[me] + (size_t)r * count, in[r] + own, count);
        else copy(out[r] + own, in[me] + (size_t)r * count, count);
      }
      break;
    case REDUCE_SCATTER: {
      float *to = out[me] - own; /* element i of the sum belongs at i - own */
      sum(&to, 1, in, ranks, own, count);
      break;
    }
    case SCAN:
      if (me == 0) copy(out[0], in[0], count);
      if (variant == 0 && me > 0) sum(&out[me], 1, in, me + 1, 0, count);
      for (size_t at = first; variant == 1 && at < first + part; at += BLOCK) {
        const size_t length = first + part - at < BLOCK ? first + part - at : BLOCK;
        for (int r = 1; r < ranks; r++) add(out[r] + at, (r == 1 ? in[0] : out[r - 1]) + at, in[r] + at, length);
      }
      break;
    default: /* EXSCAN */
      if (variant == 0 && me > 0) sum(&out[me], 1, in, me, 0, count);
      if (variant == 1 && me + 1 < ranks) sum(&out[me + 1], 1, in, me + 1, 0, count);
  }
}

/* Returns whether a rank accesses the buffers of a peer; if not, the peer need not wait for it. */
static int reaches(enum collective which, int variant, int root, int rank, int peer) {
  switch (which) {
    case BCAST: return variant == 1 || peer == root;
    case REDUCE: return variant == 1 || rank == root;
    case SCATTER: return variant == 1 ? rank == root : peer == root;
    case GATHER: return variant == 0 ? rank == root : peer == root;
    case SCAN: return variant == 1 || peer < rank;
    case EXSCAN: return peer < rank || (variant == 1 && peer == rank + 1);
    default: return 1;
  }
}

void limit_call(struct limit *l, enum collective which, int variant, int root, size_t count) {
  const uint64_t operation = ++l->operation;
  const int me = l->rank;
  int reaches_any = 0, is_reached = 0;
  for (int r = 0; r < l->ranks; r++) {
    reaches_any |= r != me && reaches(which, variant, root, me, r);
    is_reached |= r != me && reaches(which, variant, root, r, me);
  }
  if (is_reached) post(&l->sides[me].ready, operation);
  for (int r = 0; reaches_any && r < l->ranks; r++)
    if (r != me && reaches(which, variant, root, me, r)) wait_for(l, &l->sides[r].ready, operation);
  work(l, which, variant, root, count);
  if (which == BARRIER) return;
  if (reaches_any) post(&l->sides[me].done, 2 * operation);
  for (int r = 0; is_reached && r < l->ranks; r++)
    if (r != me && reaches(which, variant, root, r, me)) wait_for(l, &l->sides[r].done, 2 * operation);
}

double limit_copy_gbs(struct limit *l, size_t bytes) {
  double speed[COPIES];
  if (!l->spin) return 0;
  for (int i = 0; i < COPIES; i++) {
    limit_call(l, BARRIER, 0, 0, 0);
    const uint64_t begin = lockstep_ticks();
    memcpy(l->out[l->rank], l->in[l->rank], bytes);
    atomic_store(&l->sides[l->rank].ticks, lockstep_ticks() - begin);
    limit_call(l, BARRIER, 0, 0, 0);
    uint64_t slowest = 1;
    for (int r = 0; r < l->ranks; r++) {
      const uint64_t ticks = atomic_load(&l->sides[r].ticks);
      slowest = ticks > slowest ? ticks : slowest;
    }
    limit_call(l, BARRIER, 0, 0, 0);
    speed[i] = l->ranks * (double)bytes / ((double)slowest * lockstep_ns_per_tick());
    for (int j = i; j > 0 && speed[j] < speed[j - 1]; j--) {
      const double kept = speed[j];
      speed[j] = speed[j - 1], speed[j - 1] = kept;
    }
  }
  return speed[COPIES / 2];
}
