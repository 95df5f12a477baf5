// SPDX-License-Identifier: GPL-2.0
/*
 * What the memory manager tells us: the owner unmaps, moves, protects or copies on write what we may have pinned.
 *
 * The callback runs under locks of the memory manager, even where sleeping is forbidden, so it does three things under
 * region->lock: it marks the interval as changed (a pin in progress will retry), unpublishes what overlaps, and bumps
 * the generation. Zapping here would close a cycle of locks (a peer's fault holds its mmap_lock and may reclaim
 * memory); unpinning here would split huge pages under a fork that counts pins. A work item does both later.
 *
 * MMU_NOTIFY_PROTECTION_PAGE (a fork write-protects pages, the contents stay) does not concern pinned pages: fork
 * gives the child copies of them and leaves ours to the owner. Where fork cannot copy, it splits the huge page, which
 * arrives as MMU_NOTIFY_CLEAR. mprotect() arrives as MMU_NOTIFY_PROTECTION_VMA and may take rights away.
 */
#include <linux/mmu_notifier.h>

#include "notify.h"
#include "pinset.h"
#include "region.h"
#include "stats.h"
#include "trace.h"

static bool notify_invalidate(struct mmu_interval_notifier *notifier, const struct mmu_notifier_range *range,
			      unsigned long seq)
{
	struct segment *segment = container_of(notifier, struct segment, notifier);
	struct region *region = segment->region;
	unsigned long start = max(range->start, segment->start), end = min(range->end, segment->end);
	unsigned int dropped = 0;

	spin_lock(&region->lock);
	mmu_interval_set_seq(notifier, seq);
	if (range->event != MMU_NOTIFY_PROTECTION_PAGE && !region->dead && start < end) {
		/* Whether or not anything was pinned: peers may have copied what was there. */
		generation_bump(&region->gen);
		dropped = pinset_drop_range(segment, start, end);
	}
	spin_unlock(&region->lock);

	if (dropped)
		stats_add(&stats_module, invalidations, 1);
	trace_kcoll_inval(region->cookie, range->event, start, end, dropped);
	return true;
}

static const struct mmu_interval_notifier_ops notify_ops = {
	.invalidate = notify_invalidate,
};

/* REQUIRES: current->mm is the owner's. */
int notify_insert(struct segment *segment)
{
	unsigned long start = PAGE_ALIGN_DOWN(segment->start), end = PAGE_ALIGN(segment->end);

	return mmu_interval_notifier_insert(&segment->notifier, segment->region->owner->mm, start, end - start,
					    &notify_ops);
}

void notify_remove(struct segment *segment)
{
	mmu_interval_notifier_remove(&segment->notifier);
}
