/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tools of a fair measurement that do not depend on the measured library: a clock, pinning, a start that all ranks make
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
/* Does not free the segment. */
void lockstep_close(struct lockstep *step);

/* Ticks of a clock that all cores share, and nanoseconds per tick. */
uint64_t lockstep_ticks(void);
double lockstep_ns_per_tick(void);

/* Keeps this rank's memory busy for 0.3 s; call it before the first measurement. An idle machine can take
 * 1.5 times as long for the same copies until its caches and memory have been in use for some tenths of a second;
 * computing alone is not enough. */
void lockstep_warm(void);

/* Returns how many iterations fill `seconds`, the same on all ranks. It runs some, for a third of that time and at least 24 if 0.2 s
 * are enough for them, and uses the fastest of the second half: first calls create plans, touch memory and measure
 * where their peers are and what is faster, and a call that waits for a processor is not representative. -1 if
 * `iterate` fails. */
int64_t lockstep_rehearse(struct lockstep *step, double seconds, int (*iterate)(void *context), void *context);

/* Returns in all ranks at the same instant (to about 20 ns) when spinning, else once all have come. */
void lockstep_start(struct lockstep *step);
/* Records for rank 0 when this rank began and ended an iteration. Oversubscribed, it returns when
 * all ranks have ended it: later work of one rank must not take the processor from another that has not ended. */
void lockstep_record(struct lockstep *step, int iteration, uint64_t begin, uint64_t end);
/* Ticks of an iteration: the slowest rank's own; without a common start (not spinning) those from the first rank's
 * begin to the last one's end. Call after a lockstep_start() that followed the record. */
uint64_t lockstep_duration(const struct lockstep *step, int iteration);
/* The value of rank 0; the sum of all values. Both synchronise the ranks. */
int64_t lockstep_agree(struct lockstep *step, int64_t value);
int64_t lockstep_sum(struct lockstep *step, int64_t value);
/* Posts a value without synchronising; returns the least posted value (to detect a barrier that returns early). */
void lockstep_post(struct lockstep *step, int64_t value);
int64_t lockstep_least(const struct lockstep *step);

/* One-way latency in ns of a cache line that ranks 0 and 1 write alternately, the mean of several lines; 0 if the ranks
 * are not alone on their cores. Collective. */
double lockstep_flag_ns(struct lockstep *step);

#ifdef __cplusplus
}
#endif

#endif
