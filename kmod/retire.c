// SPDX-License-Identifier: GPL-2.0-only
/*
 * How pin sets end.
 *
 *   kcoll_pinset_unpublish()  invalidation, end of the region, pressure: region->dropped, zap work
 *   kcoll_pinset_retire()     gone from all mappings: waits for its last user, without sleeping
 *   kcoll_pinset_released()   the last user is gone: list of the dying
 *   unpin_work()              unpins after unpin_delay_ms, gives the charge back, frees
 *
 * The delay keeps a fork that splits a huge page of ours from finding half of it unpinned.
 * Published sets are in a list, oldest first, that pressure goes through: warm ones get a second
 * chance at its end. Long loops drop in batches.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "device.h"
#include "domain.h"
#include "params.h"
#include "pinset.h"
#include "stats.h"
#include "trace.h"

#define COLD_QUARTERS 4 /* unused for a second: may be dropped for others */
#define COLD_SCAN 1024	/* sets looked at per call */

static DEFINE_SPINLOCK(sets_lock); /* guards the list of published sets; inside region->lock */
static LIST_HEAD(sets);

static DEFINE_SPINLOCK(dying_lock); /* guards the list of sets to unpin; taken from RCU callbacks */
static LIST_HEAD(dying);

static void unpin_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(unpin, unpin_work);
static bool unpin_hurry; /* under dying_lock */

/* Wakes those who wait for room. */
static atomic_t freed = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(room);

/**
 * kcoll_pinset_enlist() - the set has just been published
 * @set: the pin set
 *
 * Context: region->lock.
 */
void kcoll_pinset_enlist(struct kcoll_pinset *set)
{
	spin_lock(&sets_lock);
	list_add_tail(&set->lru, &sets);
	list_add_tail(&set->own, &set->region->owner->sets);
	spin_unlock(&sets_lock);
}

/* --- dropping --- */

/**
 * kcoll_pinset_unpublish() - what is no longer found goes its way
 * @set: the pin set
 *
 * Context: region->lock.
 */
void kcoll_pinset_unpublish(struct kcoll_pinset *set)
{
	struct kcoll_region *region = set->region;
	struct kcoll_slot *slot = region_slot(region, set->window);

	if (rcu_access_pointer(slot->set) == set)
		RCU_INIT_POINTER(slot->set, NULL);
	spin_lock(&sets_lock);
	list_del_init(&set->lru);
	list_del_init(&set->own);
	spin_unlock(&sets_lock);
	atomic_long_add(set->charge.pages, &region->owner->dropped_pages);
	list_add_tail(&set->link, &region->dropped);
	region->drops++;
	percpu_ref_get(&region->ref);
	if (!queue_work(kcoll_wq, &region->zap_work))
		percpu_ref_put(&region->ref);
}

/* REQUIRES: region->lock */
static void drop(struct kcoll_pinset *set)
{
	xa_erase(&set->region->sets, set->window);
	kcoll_pinset_unpublish(set);
}

/**
 * kcoll_pinset_drop_range() - drops sets with pages in [start, end)
 * @segment: the segment
 * @start: first address
 * @end: address after the last
 * @most: at most so many
 *
 * Context: region->lock.
 * Return: how many.
 */
unsigned int kcoll_pinset_drop_range(struct kcoll_segment *segment, unsigned long start,
				     unsigned long end, unsigned int most)
{
	struct kcoll_region *region = segment->region;
	unsigned long i, last = segment_window(segment, end - 1);
	unsigned int dropped = 0;
	struct kcoll_pinset *set;

	xa_for_each_range(&region->sets, i, set, segment_window(segment, start), last) {
		if (set->start >= end ||
		    set->start + ((unsigned long)set->pages << PAGE_SHIFT) <= start)
			continue;
		if (dropped == most)
			break;
		drop(set);
		dropped++;
	}
	return dropped;
}

/**
 * kcoll_pinset_drop_all() - drops all sets of a region that has ended
 * @region: the region
 *
 * Context: may sleep.
 */
void kcoll_pinset_drop_all(struct kcoll_region *region)
{
	unsigned int dropped;
	struct kcoll_pinset *set;
	unsigned long i;

	do {
		dropped = 0;
		spin_lock(&region->lock);
		xa_for_each(&region->sets, i, set) {
			drop(set);
			if (++dropped == DROP_BATCH)
				break;
		}
		spin_unlock(&region->lock);
		cond_resched();
	} while (dropped == DROP_BATCH);
}

static bool cold(const struct kcoll_pinset *set)
{
	return (u32)(jiffies / (HZ / 4)) - READ_ONCE(set->used) >= COLD_QUARTERS;
}

/**
 * kcoll_pinset_cold_pages() - for the shrinker: pages of sets that it would drop
 *
 * Return: their number.
 */
unsigned long kcoll_pinset_cold_pages(void)
{
	unsigned int scanned = 0;
	unsigned long pages = 0;
	struct kcoll_pinset *set;

	spin_lock(&sets_lock);
	list_for_each_entry(set, &sets, lru) {
		if (++scanned > COLD_SCAN)
			break;
		if (cold(set))
			pages += set->pages;
	}
	spin_unlock(&sets_lock);
	return pages;
}

/* REQUIRES: sets_lock. On a list, so published, so both are alive. */
static struct kcoll_pinset *hold(struct kcoll_pinset *set)
{
	if (set) {
		percpu_ref_get(&set->ref);
		percpu_ref_get(&set->region->ref);
	}
	return set;
}

static bool colder(const struct kcoll_pinset *set, const struct kcoll_pinset *best)
{
	return !best || (s32)(READ_ONCE(set->used) - READ_ONCE(best->used)) < 0;
}

/*
 * The coldest set of COLD_SCAN, with references to it and its region. Warm ones go to the list's
 * end.
 */
static struct kcoll_pinset *coldest(void)
{
	struct kcoll_pinset *set, *next, *best = NULL, *moved = NULL;
	unsigned int scanned = 0;

	spin_lock(&sets_lock);
	list_for_each_entry_safe(set, next, &sets, lru) {
		if (set == moved || ++scanned > COLD_SCAN)
			break;
		if (!cold(set)) {
			moved = moved ?: set;
			list_move_tail(&set->lru, &sets);
		} else if (colder(set, best)) {
			best = set;
		}
	}
	hold(best);
	spin_unlock(&sets_lock);
	return best;
}

/* The same of an owner's; also a warm one, if there is no cold one and `warm` says so. */
static struct kcoll_pinset *coldest_of(struct kcoll_owner *owner, bool warm)
{
	struct kcoll_pinset *set, *next, *best = NULL, *moved = NULL, *first = NULL;
	unsigned int scanned = 0;

	spin_lock(&sets_lock);
	list_for_each_entry_safe(set, next, &owner->sets, own) {
		if (set == moved || ++scanned > COLD_SCAN)
			break;
		if (!cold(set)) {
			if (colder(set, first))
				first = set;
			moved = moved ?: set;
			list_move_tail(&set->own, &owner->sets);
		} else if (colder(set, best)) {
			best = set;
		}
	}
	best = hold(best ?: warm ? first : NULL);
	spin_unlock(&sets_lock);
	return best;
}

/* Drops a set that is still published and lets go of it; returns its pages, or 0. */
static unsigned long drop_held(struct kcoll_pinset *set)
{
	struct kcoll_region *region = set->region;
	unsigned long pages = 0;

	spin_lock(&region->lock);
	if (xa_load(&region->sets, set->window) == set) {
		drop(set);
		pages = set->pages;
	}
	spin_unlock(&region->lock);
	pinset_put(set);
	kcoll_region_put(region);
	return pages;
}

/**
 * kcoll_pinset_drop_cold() - drops cold sets
 * @owner: whose; NULL: of all
 * @pages: how many pages are to be on their way out
 *
 * Return: how many are.
 */
unsigned long kcoll_pinset_drop_cold(struct kcoll_owner *owner, unsigned long pages)
{
	unsigned long dropped = 0;

	while (dropped < pages) {
		struct kcoll_pinset *set = owner ? coldest_of(owner, false) : coldest();

		if (!set)
			break;
		dropped += drop_held(set);
		cond_resched();
	}
	/* What is waiting for its delay is room too. */
	kcoll_pinset_unpin_now();
	return dropped;
}

/**
 * kcoll_pinset_evict() - the same of an owner, but warm sets too
 * @owner: the owner
 * @pages: how many pages are to be on their way out
 *
 * Their users go on with what they hold.
 *
 * Return: how many are.
 */
unsigned long kcoll_pinset_evict(struct kcoll_owner *owner, unsigned long pages)
{
	unsigned long dropped = 0;
	struct kcoll_pinset *set;

	while (dropped < pages && (set = coldest_of(owner, true))) {
		dropped += drop_held(set);
		cond_resched();
	}
	return dropped;
}

/* --- unpinning --- */

/**
 * kcoll_pinset_freed() - how often a set was freed, to be waited for
 *
 * Return: a count that wraps around.
 */
int kcoll_pinset_freed(void)
{
	return atomic_read(&freed);
}

/**
 * kcoll_pinset_wait_freed() - until another is freed, or for some time
 * @seen: from kcoll_pinset_freed()
 *
 * Return: 0; -EINTR: a signal.
 */
int kcoll_pinset_wait_freed(int seen)
{
	return wait_event_interruptible_timeout(room, atomic_read(&freed) != seen, HZ / 20) < 0 ?
		       -EINTR :
		       0;
}

/**
 * kcoll_pinset_retire() - no mapping shows the set any more
 * @set: the pin set
 */
void kcoll_pinset_retire(struct kcoll_pinset *set)
{
	percpu_ref_kill(&set->ref);
}

/**
 * kcoll_pinset_released() - the last user is gone: to be unpinned, after the delay
 * @ref: of the set
 *
 * Context: may be an RCU callback.
 */
void kcoll_pinset_released(struct percpu_ref *ref)
{
	struct kcoll_pinset *set = container_of(ref, struct kcoll_pinset, ref);
	unsigned long flags, delay = msecs_to_jiffies(READ_ONCE(kcoll_param_unpin_delay_ms));

	/* UNREGISTER waits for it, and nobody will pin there again. */
	if (READ_ONCE(set->region->dead))
		delay = 0;
	set->due = jiffies + delay;
	spin_lock_irqsave(&dying_lock, flags);
	list_add_tail(&set->link, &dying);
	if (delay)
		queue_delayed_work(kcoll_wq, &unpin, delay);
	else
		mod_delayed_work(kcoll_wq, &unpin, 0);
	spin_unlock_irqrestore(&dying_lock, flags);
}

static void set_free(struct kcoll_pinset *set)
{
	struct kcoll_region *region = set->region;
	unsigned int i;

	for (i = 0; i < set->n; i++)
		unpin_user_page_range_dirty_lock(set->extents[i].page, set->extents[i].n,
						 set->write);
	trace_kcoll_unpin(region->cookie, set->pages, set->n);
	stats_add(&region->domain->events, unpin_pages, set->pages);
	atomic_long_sub(set->charge.pages, &region->owner->dropped_pages);
	kcoll_account_uncharge(region->owner, &set->charge, set->charge.pages);
	atomic_inc(&freed);
	if (wq_has_sleeper(&room))
		wake_up_all(&room);
	percpu_ref_exit(&set->ref);
	kvfree(set);
	spin_lock(&region->lock);
	region->live--;
	spin_unlock(&region->lock);
	wake_up_all(&region->wait);
	kcoll_region_put(region);
}

/*
 * Moves to `now` what is due; false: nothing is left, else *due says when the next one will be.
 * REQUIRES: dying_lock
 */
static bool take_due(struct list_head *now, unsigned long *due)
{
	struct kcoll_pinset *set, *next;
	bool left = false;

	list_for_each_entry_safe(set, next, &dying, link) {
		if (unpin_hurry || time_after_eq(jiffies, set->due)) {
			list_move_tail(&set->link, now);
		} else {
			*due = left && time_before(*due, set->due) ? *due : set->due;
			left = true;
		}
	}
	unpin_hurry = false;
	return left;
}

static void unpin_work(struct work_struct *work)
{
	struct kcoll_pinset *set, *next;
	unsigned long flags, due = 0;
	LIST_HEAD(now);

	spin_lock_irqsave(&dying_lock, flags);
	if (take_due(&now, &due))
		queue_delayed_work(kcoll_wq, &unpin, max(1L, (long)(due - jiffies)));
	spin_unlock_irqrestore(&dying_lock, flags);

	list_for_each_entry_safe(set, next, &now, link) {
		list_del(&set->link);
		set_free(set);
		cond_resched();
	}
}

/**
 * kcoll_pinset_stop() - no set is left, but the timer may still be armed
 */
void kcoll_pinset_stop(void)
{
	cancel_delayed_work_sync(&unpin);
}

/**
 * kcoll_pinset_unpin_now() - no delay for those that are dying now
 *
 * For who waits for the room, or for the end.
 */
void kcoll_pinset_unpin_now(void)
{
	unsigned long flags;

	spin_lock_irqsave(&dying_lock, flags);
	if (!list_empty(&dying)) {
		unpin_hurry = true;
		mod_delayed_work(kcoll_wq, &unpin, 0);
	}
	spin_unlock_irqrestore(&dying_lock, flags);
}
