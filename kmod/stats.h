/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters. Each descriptor has its own per CPU, so counting writes no cache line that another CPU writes; the
 * module's sums are those of the open descriptors plus what closed ones left.
 */
#ifndef _KCOLL_STATS_H
#define _KCOLL_STATS_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <uapi/kcoll.h>

/* One u64 for each of struct kcoll_stats after its two leading words, in its order. */
#define STATS_WORDS ((sizeof(struct kcoll_stats) - 8) / 8)
#define STAT_INDEX(field) ((offsetof(struct kcoll_stats, field) - 8) / 8)

struct stats_cpu {
	u64 v[STATS_WORDS];
};

struct stats {
	struct stats_cpu __percpu *cpu;
	bool timed; /* measure cached copies too */
	struct list_head link;
};

int stats_init(struct stats *stats);
void stats_exit(struct stats *stats);
void stats_sum(struct stats *stats, struct kcoll_stats *sum);
void stats_sum_all(struct kcoll_stats *sum);
unsigned int stats_conc_bucket(unsigned int conc);

int stats_start(void);
void stats_stop(void);

/* Events that belong to no descriptor (invalidations, work items) are counted for the module. */
extern struct stats stats_module;

#define stats_add(stats, field, n) this_cpu_add((stats)->cpu->v[STAT_INDEX(field)], (n))
#define stats_add_conc(stats, field, bucket, n) this_cpu_add((stats)->cpu->v[STAT_INDEX(field) + (bucket)], (n))

#endif
