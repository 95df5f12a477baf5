/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fair measurement needs beside the library that is measured: a clock, pinning, a start that all ranks make
 * at the same instant, and the distance between their cores. None of it uses the library under test, so that a slow
 * or fast barrier does not shape the other figures.
 */
#ifndef BENCH_LOCKSTEP_LOCKSTEP_H
#define BENCH_LOCKSTEP_LOCKSTEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LOCKSTEP_MAX_RANKS = 64, LOCKSTEP_MAX_ITERATIONS = 4096 };

struct lockstep;

/* Pins this rank to the rank-th processor it may use; does nothing when ranks > processors. Returns the
 * processor, or -1 when not pinned. */
int lockstep_pin(int rank, int ranks);

/* `segment`: lockstep_segment_bytes() of zeroed memory, page aligned, that all ranks share; `spin`: every rank has a
 * processor of its own. NULL when ranks > LOCKSTEP_MAX_RANKS or memory is short. Does not wait for the others. */
size_t lockstep_segment_bytes(void);
struct lockstep *lockstep_attach(void *segment, int rank, int ranks, int spin);
/* Leaves the segment to who made it. */
void lockstep_close(struct lockstep *step);

/* Ticks of a clock that all cores share, and what one tick is worth. */
uint64_t lockstep_ticks(void);
double lockstep_ns_per_tick(void);

/* Keeps this rank's memory busy for 0.3 s, to be called before the first measurement. A machine that has rested can take
 * half as long again for the same copies until its caches and memory have been in use for some tenths of a second;
 * computing alone does not wake them. */
void lockstep_warm(void);

/* How many iterations fill `seconds`, alike in all ranks. It makes some, for a third of that time and two dozen where 0.2 s
 * are enough for them, of which the quickest of the second half counts: first calls make plans, touch memory and find out
 * where their peers are and what is faster here, and one that waits for a processor says nothing of the others. -1 when
 * `iterate` is not 0. */
int64_t lockstep_rehearse(struct lockstep *step, double seconds, int (*iterate)(void *context), void *context);

/* Returns in all ranks at the same instant (to about 20 ns) when spinning, else once all have come. */
void lockstep_start(struct lockstep *step);
/* Leaves where rank 0 finds it when this rank began and ended an iteration. Where ranks share processors it returns when
 * all have ended it: what one rank does next must not take the processor from another that is still at it. */
void lockstep_record(struct lockstep *step, int iteration, uint64_t begin, uint64_t end);
/* Ticks of an iteration: the slowest rank's own; without a common start (not spinning) those from the first rank's
 * begin to the last one's end. Call after a lockstep_start() that followed the record. */
uint64_t lockstep_duration(const struct lockstep *step, int iteration);
/* Every rank gets rank 0's value; the sum of all ranks' values. Both synchronise. */
int64_t lockstep_agree(struct lockstep *step, int64_t value);
int64_t lockstep_sum(struct lockstep *step, int64_t value);
/* Shows a value to all without synchronising; the least of those shown (to catch a barrier that lets go early). */
void lockstep_post(struct lockstep *step, int64_t value);
int64_t lockstep_least(const struct lockstep *step);

/* One-way nanoseconds of a cache line that ranks 0 and 1 write in turn, the mean of several lines; 0 when the ranks
 * are not alone on their cores. Collective. */
double lockstep_flag_ns(struct lockstep *step);

#ifdef __cplusplus
}
#endif

#endif
