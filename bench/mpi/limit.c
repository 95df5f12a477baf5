/* SPDX-License-Identifier: BSD-3-Clause */
#include "limit.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "by_hand.h"
#include "ranks.h"

enum { RANKS = 2, HUGE = 2 << 20, COPIES = 9 };

struct side {
  alignas(128) atomic_uint_least64_t ready; /* operations whose input this rank has, and whose output may be written */
  alignas(128) atomic_uint_least64_t done;  /* operations for which it no longer touches the other's buffers */
  alignas(128) atomic_uint_least64_t ticks;
};
struct limit {
  struct side *mine, *other;
  float *in[RANKS], *out[RANKS];
  int rank;
  uint64_t operation;
};

static size_t rounded(size_t bytes) { return (bytes + HUGE - 1) / HUGE * HUGE; }

struct limit *limit_open(int rank, size_t in_bytes, size_t out_bytes, float **in, float **out) {
  size_t in_room = rounded(in_bytes), out_room = rounded(out_bytes);
  char *memory = open_shared_memory(rank, HUGE + RANKS * (in_room + out_room));
  struct limit *limit = calloc(1, sizeof *limit);
  if (!memory || !limit) return NULL;
  struct side *sides = (struct side *)memory;
  limit->rank = rank;
  limit->mine = &sides[rank], limit->other = &sides[1 - rank];
  for (int r = 0; r < RANKS; r++) {
    limit->in[r] = (float *)(memory + HUGE + (size_t)r * (in_room + out_room));
    limit->out[r] = (float *)((char *)limit->in[r] + in_room);
  }
  madvise(limit->in[rank], in_room + out_room, MADV_HUGEPAGE);
  memset(limit->in[rank], 1, in_room + out_room);
  *in = limit->in[rank], *out = limit->out[rank];
  return limit;
}

static void add_to_both(float *restrict to, float *restrict also, const float *a, const float *b, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = also[i] = a[i] + b[i];
}

int limit_ways(enum collective which) {
  static const int ways[COLLECTIVES] = {
      [BARRIER] = 1,   [BCAST] = 2,    [REDUCE] = 2,         [ALLREDUCE] = 3, [SCATTER] = 2, [GATHER] = 2,
      [ALLGATHER] = 2, [ALLTOALL] = 2, [REDUCE_SCATTER] = 1, [SCAN] = 2,      [EXSCAN] = 2};
  return ways[which];
}

/* Between "both are ready" and "both are done". Way 0 reads from the other side wherever it can; way 1 shares the work of
 * the one who has it, or writes to the other side. */
static void work(struct limit *l, enum collective which, int way, int root, size_t count) {
  const int me = l->rank, peer = 1 - me, is_root = me == root;
  const size_t half = count / 2, first = me == 0 ? 0 : half, part = me == 0 ? half : count - half;
  const float *in = l->in[me], *peer_in = l->in[peer], *low = l->in[0], *high = l->in[1];
  float *out = l->out[me], *peer_out = l->out[peer];
  float *result = is_root ? out : peer_out;
  switch (which) {
    case BARRIER: break;
    case BCAST:
      if (way == 1) copy(is_root ? peer_out + first : out + first, l->in[root] + first, part);
      else if (!is_root) copy(out, peer_in, count);
      break;
    case REDUCE:
      if (way == 1) add(result + first, low + first, high + first, part);
      else if (is_root) add(out, low, high, count);
      break;
    case ALLREDUCE:
      if (way == 0) add(out, low, high, count);
      else if (way == 1) add_to_both(out + first, peer_out + first, low + first, high + first, part);
      else {
        add(out + first, low + first, high + first, part);
        /* The other's half, once it is there. */
        const size_t their_first = me == 0 ? half : 0, theirs = count - part;
        post(&l->mine->done, 2 * l->operation - 1);
        await(&l->other->done, 2 * l->operation - 1);
        copy(out + their_first, peer_out + their_first, theirs);
      }
      break;
    case SCATTER:
      if (is_root) copy(out, in + (size_t)me * count, count);
      if (way == 0 && !is_root) copy(out, peer_in + (size_t)me * count, count);
      if (way == 1 && is_root) copy(peer_out, in + (size_t)peer * count, count);
      break;
    case GATHER:
      if (is_root) copy(out + (size_t)me * count, in, count);
      if (way == 0 && is_root) copy(out + (size_t)peer * count, peer_in, count);
      if (way == 1 && !is_root) copy(peer_out + (size_t)me * count, in, count);
      break;
    case ALLGATHER:
      copy(out + (size_t)me * count, in, count);
      if (way == 0) copy(out + (size_t)peer * count, peer_in, count);
      else copy(peer_out + (size_t)me * count, in, count);
      break;
    case ALLTOALL:
      copy(out + (size_t)me * count, in + (size_t)me * count, count);
      if (way == 0) copy(out + (size_t)peer * count, peer_in + (size_t)me * count, count);
      else copy(peer_out + (size_t)me * count, in + (size_t)peer * count, count);
      break;
    case REDUCE_SCATTER: add(out, low + (size_t)me * count, high + (size_t)me * count, count); break;
    case SCAN:
      if (me == 0) copy(out, in, count);
      if (way == 0 && me == 1) add(out, low, high, count);
      if (way == 1) add((me == 1 ? out : peer_out) + first, low + first, high + first, part);
      break;
    default: /* EXSCAN */
      if (way == 0 && me == 1) copy(out, peer_in, count);
      if (way == 1 && me == 0) copy(peer_out, in, count);
  }
}

/* Whether this rank's work touches the other's buffers; if not, the other need not wait for it to be done. */
static int reaches_over(const struct limit *l, enum collective which, int way, int root) {
  const int is_root = l->rank == root;
  switch (which) {
    case BARRIER: return 0;
    case BCAST: return way == 1 || !is_root;
    case REDUCE: return way == 1 || is_root;
    case SCATTER: return is_root == way;
    case GATHER: return is_root != way;
    case SCAN: return way == 1 || l->rank == 1;
    case EXSCAN: return l->rank != way;
    default: return 1;
  }
}

void limit_call(struct limit *l, enum collective which, int way, int root, size_t count) {
  struct limit other_side = *l;
  other_side.rank = 1 - l->rank;
  const uint64_t operation = ++l->operation;
  const int over = reaches_over(l, which, way, root), is_reached = reaches_over(&other_side, which, way, root);
  if (is_reached || which == BARRIER) post(&l->mine->ready, operation);
  if (over || which == BARRIER) await(&l->other->ready, operation);
  work(l, which, way, root, count);
  if (over) post(&l->mine->done, 2 * operation);
  if (is_reached) await(&l->other->done, 2 * operation);
}

double limit_copy_gbs(struct limit *l, size_t bytes) {
  double speed[COPIES];
  for (int i = 0; i < COPIES; i++) {
    limit_call(l, BARRIER, 0, 0, 0);
    const uint64_t begin = lockstep_ticks();
    memcpy(l->out[l->rank], l->in[l->rank], bytes);
    atomic_store(&l->mine->ticks, lockstep_ticks() - begin);
    limit_call(l, BARRIER, 0, 0, 0);
    const uint64_t mine = atomic_load(&l->mine->ticks), other = atomic_load(&l->other->ticks);
    limit_call(l, BARRIER, 0, 0, 0);
    speed[i] = 2.0 * (double)bytes / ((double)(mine > other ? mine : other) * lockstep_ns_per_tick());
    for (int j = i; j > 0 && speed[j] < speed[j - 1]; j--) {
      const double kept = speed[j];
      speed[j] = speed[j - 1], speed[j - 1] = kept;
    }
  }
  return speed[COPIES / 2];
}
