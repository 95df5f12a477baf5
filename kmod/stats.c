// SPDX-License-Identifier: GPL-2.0-only
/* Counters, their sums, and the administrator's view in debugfs. */
#include <linux/debugfs.h>
#include <linux/log2.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "account.h"
#include "domain.h"
#include "region.h"
#include "stats.h"

static struct dentry *debug_dir;

/**
 * kcoll_stats_init() - counters, of no domain yet
 * @stats: the counters
 *
 * Return: 0 or -ENOMEM.
 */
int kcoll_stats_init(struct kcoll_counters *stats)
{
	stats->cpu = alloc_percpu_gfp(struct kcoll_counters_cpu, GFP_KERNEL_ACCOUNT);
	if (!stats->cpu)
		return -ENOMEM;
	stats->timed = false;
	return 0;
}

/**
 * kcoll_stats_enter() - from now on they are part of a domain's sums
 * @stats: the counters
 * @domain: the domain
 */
void kcoll_stats_enter(struct kcoll_counters *stats, struct kcoll_domain *domain)
{
	mutex_lock(&domain->lock);
	list_add(&stats->link, &domain->stats);
	mutex_unlock(&domain->lock);
}

static void add_up(const struct kcoll_counters *stats, u64 *sum)
{
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct kcoll_counters_cpu *one = per_cpu_ptr(stats->cpu, cpu);

		for (i = 0; i < STATS_WORDS; i++)
			sum[i] += READ_ONCE(one->v[i]);
	}
}

/**
 * kcoll_stats_exit() - leaves what was counted to the domain
 * @stats: the counters
 * @domain: the domain that they have entered; NULL: none, so that they have counted nothing
 */
void kcoll_stats_exit(struct kcoll_counters *stats, struct kcoll_domain *domain)
{
	if (domain) {
		mutex_lock(&domain->lock);
		list_del(&stats->link);
		add_up(stats, domain->closed.v);
		mutex_unlock(&domain->lock);
	}
	free_percpu(stats->cpu);
}

/**
 * kcoll_stats_sum() - adds counters up
 * @stats: the counters
 * @sum: what they are added to
 */
void kcoll_stats_sum(struct kcoll_counters *stats, struct kcoll_stats *sum)
{
	add_up(stats, &sum->copies);
}

/**
 * kcoll_stats_sum_domain() - adds a domain's counters up
 * @domain: the domain
 * @sum: what they are added to
 *
 * Costs what its own descriptors cost; others do not wait for it.
 */
void kcoll_stats_sum_domain(struct kcoll_domain *domain, struct kcoll_stats *sum)
{
	struct kcoll_counters *stats;
	unsigned int i;

	mutex_lock(&domain->lock);
	for (i = 0; i < STATS_WORDS; i++)
		(&sum->copies)[i] += domain->closed.v[i];
	list_for_each_entry(stats, &domain->stats, link) {
		add_up(stats, &sum->copies);
		cond_resched();
	}
	mutex_unlock(&domain->lock);
}

/**
 * kcoll_stats_conc_bucket() - 1, 2, 3-4, 5-8, ...
 * @conc: how many tasks at once
 *
 * Return: the index of the range that conc lies in.
 */
unsigned int kcoll_stats_conc_bucket(unsigned int conc)
{
	unsigned int bucket = conc <= 1 ? 0 : ilog2(conc - 1) + 1;

	return min_t(unsigned int, bucket, KCOLL_CONC_BUCKETS - 1);
}

#define SHOW(field) seq_printf(m, "%-16s %llu\n", #field, sum->field)

static int stats_show(struct seq_file *m, void *unused)
{
	struct kcoll_stats *sum = kzalloc(sizeof(*sum), GFP_KERNEL);
	unsigned int i;

	if (!sum)
		return -ENOMEM;
	kcoll_domain_sum_all(sum);
	SHOW(copies);
	SHOW(copies_uncached);
	SHOW(bytes_read);
	SHOW(bytes_written);
	SHOW(bytes_uncached);
	SHOW(timed);
	SHOW(timed_bytes);
	SHOW(total_ns);
	SHOW(copy_ns);
	SHOW(wait_ns);
	SHOW(pins);
	SHOW(pin_pages);
	SHOW(pin_extents);
	SHOW(gate_ns);
	SHOW(lock_ns);
	SHOW(pin_ns);
	SHOW(retries);
	SHOW(pages_uncached);
	SHOW(faults);
	SHOW(stale);
	SHOW(invalidations);
	SHOW(zaps);
	SHOW(unpin_pages);
	for (i = 0; i < KCOLL_CONC_BUCKETS; i++)
		seq_printf(m, "conc<=%-10u %llu pages %llu ns\n", 1U << i, sum->conc_pages[i],
			   sum->conc_ns[i]);
	seq_printf(m, "pinned_pages     %ld\nregions          %d\n", kcoll_account_pinned_pages(),
		   kcoll_region_count());
	kfree(sum);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int regions_show(struct seq_file *m, void *unused)
{
	seq_puts(m, "owner_pid uid length ranges direction mappings sets drops zaps generation ");
	seq_puts(m, "owner_pinned_pages\n");
	kcoll_domain_show_regions(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(regions);

/**
 * kcoll_stats_start() - makes the files of debugfs appear
 */
void kcoll_stats_start(void)
{
	debug_dir = debugfs_create_dir("kcoll", NULL);
	debugfs_create_file("stats", 0400, debug_dir, NULL, &stats_fops);
	debugfs_create_file("regions", 0400, debug_dir, NULL, &regions_fops);
}

/**
 * kcoll_stats_stop() - the opposite
 */
void kcoll_stats_stop(void)
{
	debugfs_remove_recursive(debug_dir);
}
