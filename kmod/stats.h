/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters. Each descriptor has its own per CPU, so counting writes no cache line that another CPU
 * writes; a domain's sums are those of its open descriptors plus what closed ones left.
 */
#ifndef _KCOLL_STATS_H
#define _KCOLL_STATS_H

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <uapi/kcoll.h>

/* One u64 for each of struct kcoll_stats after its two leading words, in its order. */
#define STATS_WORDS ((sizeof(struct kcoll_stats) - 8) / 8)
#define STAT_INDEX(field) ((offsetof(struct kcoll_stats, field) - 8) / 8)

struct kcoll_counters_cpu {
	u64 v[STATS_WORDS];
};

struct kcoll_counters {
	struct kcoll_counters_cpu __percpu *cpu;
	bool timed; /* measure cached copies too */
	struct list_head link;
};

/* What one of them takes. */
#define COUNTERS_BYTES (nr_cpu_ids * sizeof(struct kcoll_counters_cpu))

struct kcoll_domain;

int kcoll_stats_init(struct kcoll_counters *stats);
void kcoll_stats_enter(struct kcoll_counters *stats, struct kcoll_domain *domain);
void kcoll_stats_exit(struct kcoll_counters *stats, struct kcoll_domain *domain);
void kcoll_stats_sum(struct kcoll_counters *stats, struct kcoll_stats *sum);
void kcoll_stats_sum_domain(struct kcoll_domain *domain, struct kcoll_stats *sum);
unsigned int kcoll_stats_conc_bucket(unsigned int conc);

void kcoll_stats_start(void);
void kcoll_stats_stop(void);

#define stats_add(stats, field, n) this_cpu_add((stats)->cpu->v[STAT_INDEX(field)], (n))
#define stats_add_conc(stats, field, bucket, n) \
	this_cpu_add((stats)->cpu->v[STAT_INDEX(field) + (bucket)], (n))

#endif
