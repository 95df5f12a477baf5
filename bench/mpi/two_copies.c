/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every collective is the same for both ranks: up to three moves, each of `count` floats and in slices.
 *   give  into the own shared memory, which the other takes from
 *   keep  from the own input to the own output
 *   take  from the other's shared memory, plain or added to what `with` names
 * A rank gives slice after slice, keeps the same slice, and takes one that the other gave `lag` slices before.
 */
#include "two_copies.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "by_hand.h"
#include "ranks.h"

enum {
  HUGE = 2 << 20,
  PAGE = 4096,
  WALK = 4 << 20, /* several times a private L2: a line has left the cache of the peer before it is given again */
  KEPT = 512,     /* maximum number of operations with a place of their own */
  BEHIND = 16 /* a page, where large memory of malloc() begins: memcpy may crawl from the page to a little behind it */
};

/* Each has one writer. Counts are of slices in all operations so far. */
struct side {
  alignas(128) atomic_uint_least64_t given;
  alignas(128) atomic_uint_least64_t taken;
};
struct two_copies {
  struct side *mine, *other;
  char *own_room, *other_room;
  size_t room;  /* bytes of one rank */
  size_t place; /* bytes per operation: operations use the places in rotation */
  int rank;
  uint64_t operation;          /* with places as they are */
  uint64_t given, taken;       /* by this rank */
  uint64_t given_before[KEPT]; /* when the operation that last used a place had ended */
};

/* `slice_bytes` 0: one slice. `slots`: size of the ring of slices; 0: one slot per slice. */
static const struct variant {
  size_t slice_bytes, slots, lag;
  int keeps_last; /* copies its own part after it has given everything */
} variants[] = {
    {0, 0, 0, 0},         {0, 0, 0, 1},        {4 << 10, 0, 1, 1},  {16 << 10, 0, 1, 0}, {16 << 10, 0, 1, 1},
    {16 << 10, 16, 8, 0}, {32 << 10, 0, 1, 0}, {32 << 10, 8, 2, 0}, {64 << 10, 4, 1, 0}, {128 << 10, 4, 1, 0},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

struct moves {
  const float *give, *keep_from, *with;
  float *keep_to, *take;
  int with_first; /* the sum is with + taken, else taken + with */
};

struct two_copies *two_copies_open(int rank, size_t bytes) {
  const size_t least = 2 * ((bytes + HUGE - 1) / HUGE * HUGE), room = least > WALK ? least : WALK;
  char *memory = open_shared_memory(rank, HUGE + 2 * room + BEHIND);
  struct two_copies *with = calloc(1, sizeof *with);
  if (!memory || !with) return NULL;
  struct side *sides = (struct side *)memory;
  with->rank = rank;
  with->mine = &sides[rank], with->other = &sides[1 - rank];
  char *rooms = memory + HUGE;
  with->own_room = rooms + (size_t)rank * room + BEHIND, with->other_room = rooms + (size_t)(1 - rank) * room + BEHIND;
  with->room = room;
  madvise(with->own_room - BEHIND, room, MADV_HUGEPAGE);
  memset(with->own_room, 1, room);
  return with;
}

int two_copies_variants(enum collective which, size_t bytes) {
  int count = 0;
  while (which != BARRIER && which != ALLREDUCE && count < VARIANTS && variants[count].slice_bytes < bytes) count++;
  return count;
}

static struct moves moves_of(enum collective which, int me, int root, const float *in, float *out, size_t count) {
  const int peer = 1 - me, is_root = me == root;
  const float *own_block = in + (size_t)me * count, *peer_block = in + (size_t)peer * count;
  float *own_place = out + (size_t)me * count, *peer_place = out + (size_t)peer * count;
  switch (which) {
    case BCAST: return is_root ? (struct moves){.give = in} : (struct moves){.take = out};
    case REDUCE:
      return is_root ? (struct moves){.take = out, .with = in, .with_first = me == 0} : (struct moves){.give = in};
    case SCATTER:
      return is_root ? (struct moves){.give = peer_block, .keep_from = own_block, .keep_to = out}
                     : (struct moves){.take = out};
    case GATHER:
      return is_root ? (struct moves){.keep_from = in, .keep_to = own_place, .take = peer_place}
                     : (struct moves){.give = in};
    case ALLGATHER: return (struct moves){.give = in, .keep_from = in, .keep_to = own_place, .take = peer_place};
    case ALLTOALL:
      return (struct moves){.give = peer_block, .keep_from = own_block, .keep_to = own_place, .take = peer_place};
    case REDUCE_SCATTER:
      return (struct moves){.give = peer_block, .take = out, .with = own_block, .with_first = me == 0};
    case SCAN:
      return me == 0 ? (struct moves){.give = in, .keep_from = in, .keep_to = out}
                     : (struct moves){.take = out, .with = in};
    default: /* EXSCAN */ return me == 0 ? (struct moves){.give = in} : (struct moves){.take = out};
  }
}

static size_t place_bytes(size_t count) { return (count * sizeof(float) + PAGE - 1) / PAGE * PAGE; }

void two_copies_call(struct two_copies *with, enum collective which, int variant, int root, const float *in, float *out,
                     size_t count) {
  const struct moves moves = moves_of(which, with->rank, root, in, out, count);
  const struct variant how = variants[variant];
  const size_t slice = how.slice_bytes ? how.slice_bytes / sizeof *in : count;
  const size_t slices = (count + slice - 1) / slice, slots = how.slots ? how.slots : slices;
  struct side *mine = with->mine, *other = with->other;
  const uint64_t given = with->given, taken = with->taken;
  if (with->place != place_bytes(count)) { /* resized after the peer has taken everything */
    await(&other->taken, given);
    with->place = place_bytes(count);
    with->operation = 0;
    for (int i = 0; i < KEPT; i++) with->given_before[i] = given;
  }
  /* A page or less stays in the L1 caches. */
  const size_t most = with->place > PAGE ? KEPT : 2, fit = with->room / with->place, places = fit < most ? fit : most;
  const size_t here = with->operation++ % places;
  float *own = (float *)(with->own_room + here * with->place);
  const float *theirs = (const float *)(with->other_room + here * with->place);
  if (moves.give) await(&other->taken, with->given_before[here]);
  for (size_t step = 0; step < slices + how.lag; step++) {
    /* Starts at the end, which was written last and is in the L1 cache. */
    if (step < slices) {
      const size_t first = (slices - 1 - step) * slice, length = count - first < slice ? count - first : slice;
      if (moves.give) {
        if (step >= slots) await(&other->taken, given + step + 1 - slots);
        copy(own + step % slots * slice, moves.give + first, length);
        post(&mine->given, given + step + 1);
      }
      if (moves.keep_to && !how.keeps_last) copy(moves.keep_to + first, moves.keep_from + first, length);
    }
    if (step + 1 == slices && moves.keep_to && how.keeps_last) copy(moves.keep_to, moves.keep_from, count);
    if (moves.take && step >= how.lag) {
      const size_t got = step - how.lag, first = (slices - 1 - got) * slice;
      const size_t length = count - first < slice ? count - first : slice;
      const float *from = theirs + got % slots * slice;
      await(&other->given, taken + got + 1);
      if (!moves.with) copy(moves.take + first, from, length);
      else if (moves.with_first) add(moves.take + first, moves.with + first, from, length);
      else add(moves.take + first, from, moves.with + first, length);
      post(&mine->taken, taken + got + 1);
    }
  }
  if (moves.give) with->given += slices;
  if (moves.take) with->taken += slices;
  with->given_before[here] = with->given;
}
