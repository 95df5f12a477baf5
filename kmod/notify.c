// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the memory manager tells us: the owner unmaps, moves, protects or copies on write what we
 * may have pinned.
 *
 * The callback runs under locks of the memory manager, even where sleeping is forbidden, so it does
 * three things under region->lock: it marks the interval as changed (a pin in progress will retry),
 * unpublishes what overlaps, and then moves the generation: always, whether or not something was
 * pinned, since peers may have copied what was there. What is found from then on is newer. Zapping
 * here would nest one address space's invalidation in another's, without end if two map each other;
 * unpinning here would split huge pages under a fork that counts pins. A work item does both later.
 *
 * MMU_NOTIFY_PROTECTION_PAGE (a fork write-protects pages, the contents stay) does not concern
 * pinned pages: fork gives the child copies of them and leaves ours to the owner. Where fork cannot
 * copy, it splits the huge page, which arrives as MMU_NOTIFY_CLEAR. mprotect() arrives as
 * MMU_NOTIFY_PROTECTION_VMA and may take rights away.
 */
#include <linux/compiler.h>
#include <linux/mmu_notifier.h>
#include <linux/sched.h>
#include <linux/sort.h>

#include "domain.h"
#include "notify.h"
#include "pinset.h"
#include "region.h"
#include "stats.h"
#include "trace.h"

/* Drops what the watch's segments have pinned in [start, end), in batches; how many sets. */
static unsigned int drop_overlapping(struct kcoll_watch *watch, unsigned long start,
				     unsigned long end, bool may_sleep)
{
	struct kcoll_region *region = watch->region;
	unsigned int dropped = 0, batch;
	u32 i;

	for (i = 0; i < watch->n; i++) {
		struct kcoll_segment *segment = watch->segments[i];

		if (PAGE_ALIGN_DOWN(segment->start) >= end)
			break;
		if (segment->end <= start)
			continue;
		do {
			spin_lock(&region->lock);
			batch = kcoll_pinset_drop_range(segment, max(start, segment->start),
							min(end, segment->end), DROP_BATCH);
			spin_unlock(&region->lock);
			dropped += batch;
			if (may_sleep)
				cond_resched();
		} while (batch == DROP_BATCH);
	}
	return dropped;
}

static bool notify_invalidate(struct mmu_interval_notifier *notifier,
			      const struct mmu_notifier_range *range, unsigned long seq)
{
	struct kcoll_watch *watch = container_of(notifier, struct kcoll_watch, notifier);
	struct kcoll_region *region = watch->region;
	unsigned int dropped = 0;
	bool changes, done;

	/*
	 * Nor does it concern a pin in progress: that holds the mmap_lock, and leaves the page
	 * exclusive.
	 */
	if (range->event == MMU_NOTIFY_PROTECTION_PAGE)
		return true;
	spin_lock(&region->lock);
	mmu_interval_set_seq(notifier, seq);
	changes = !region->dead;
	/* A pin in progress may reserve a place meanwhile: it publishes nothing any more. */
	done = changes && data_race(xa_empty(&region->sets));
	if (done)
		generation_bump(&region->gen);
	spin_unlock(&region->lock);

	if (changes && !done) {
		dropped = drop_overlapping(watch, range->start, range->end,
					   mmu_notifier_range_blockable(range));
		/* After the last of them can be found. */
		spin_lock(&region->lock);
		if (!region->dead)
			generation_bump(&region->gen);
		spin_unlock(&region->lock);
	}
	if (dropped)
		stats_add(&region->domain->events, invalidations, 1);
	trace_kcoll_inval(region->cookie, range->event, range->start, range->end, dropped);
	return true;
}

static const struct mmu_interval_notifier_ops notify_ops = {
	.invalidate = notify_invalidate,
};

static int insert(struct kcoll_watch *watch, unsigned long start, unsigned long end)
{
	return mmu_interval_notifier_insert(&watch->notifier, watch->region->owner->mm, start,
					    end - start, &notify_ops);
}

static int by_start(const void *a, const void *b)
{
	const struct kcoll_segment *x = *(struct kcoll_segment *const *)a,
				   *y = *(struct kcoll_segment *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/**
 * kcoll_notify_start() - watches the region's memory
 * @region: the region
 *
 * Ranges that touch the same page, or lie beside each other, are watched as one: what an
 * invalidation costs depends on the memory that is registered, not on how often its owner names
 * it.
 *
 * Context: current->mm is the owner's; may sleep.
 * Return: 0 or an errno; kcoll_notify_stop() undoes what was done before it.
 */
int kcoll_notify_start(struct kcoll_region *region)
{
	struct kcoll_watch *watch = NULL;
	unsigned long end = 0;
	u32 i, n = region->nsegments;
	int err;

	for (i = 0; i < n; i++)
		region->sorted[i] = &region->segments[i];
	sort(region->sorted, n, sizeof(*region->sorted), by_start, NULL);
	for (i = 0; i <= n; i++) {
		struct kcoll_segment *segment = i < n ? region->sorted[i] : NULL;

		if (watch && (!segment || PAGE_ALIGN_DOWN(segment->start) > end)) {
			err = insert(watch, PAGE_ALIGN_DOWN(watch->segments[0]->start), end);
			if (err)
				return err;
			region->nwatches++;
			watch = NULL;
		}
		if (!segment)
			break;
		if (!watch) {
			watch = &region->watches[region->nwatches];
			watch->region = region;
			watch->segments = &region->sorted[i];
			end = 0;
		}
		watch->n++;
		segment->watch = watch;
		end = max(end, PAGE_ALIGN(segment->end));
	}
	return 0;
}

/**
 * kcoll_notify_stop() - invalidations do not come here any more
 * @region: the region
 *
 * Context: may sleep.
 */
void kcoll_notify_stop(struct kcoll_region *region)
{
	u32 i;

	for (i = 0; i < region->nwatches; i++) {
		mmu_interval_notifier_remove(&region->watches[i].notifier);
		cond_resched();
	}
}
