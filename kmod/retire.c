// SPDX-License-Identifier: GPL-2.0
/*
 * How pin sets end.
 *
 *   pinset_drop_*()     unpublishes (invalidation, end of the region, pressure) -> region->dropped, zap work
 *   pinset_retire()     the zap work has taken it from all mappings: wait for its last user, without waiting
 *   pinset_released()   the last user is gone -> dying list
 *   unpin_work()        unpins after unpin_delay_ms, gives the charge back, frees
 *
 * The delay keeps a fork that splits a huge page of ours from finding half of it unpinned. Published sets are in a list,
 * oldest first, that pressure goes through: warm ones get a second chance at its end.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "device.h"
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

/* REQUIRES: region->lock; the set has just been published. */
void pinset_enlist(struct pinset *set)
{
	spin_lock(&sets_lock);
	list_add_tail(&set->lru, &sets);
	spin_unlock(&sets_lock);
}

/* --- dropping --- */

/* REQUIRES: region->lock. Callable where sleeping is forbidden. */
static void unpublish(struct pinset *set)
{
	struct region *region = set->region;

	RCU_INIT_POINTER(set->window->set, NULL);
	spin_lock(&sets_lock);
	list_del_init(&set->lru);
	spin_unlock(&sets_lock);
	list_add_tail(&set->link, &region->dropped);
	region->drops++;
	percpu_ref_get(&region->ref);
	if (!queue_work(kcoll_wq, &region->zap_work))
		percpu_ref_put(&region->ref);
}

/* REQUIRES: region->lock. Unpublishes the sets that touch [start, end) of the owner's addresses; returns how many. */
unsigned int pinset_drop_range(struct segment *segment, unsigned long start, unsigned long end)
{
	struct region *region = segment->region;
	unsigned long i, last = segment_window(segment, end - 1);
	unsigned int dropped = 0;

	for (i = segment_window(segment, start); i <= last; i++) {
		struct pinset *set = rcu_dereference_protected(region->windows[i].set, lockdep_is_held(&region->lock));

		if (set) {
			unpublish(set);
			dropped++;
		}
	}
	return dropped;
}

static bool cold(const struct pinset *set)
{
	return (u32)(jiffies / (HZ / 4)) - READ_ONCE(set->used) >= COLD_QUARTERS;
}

/* For the shrinker: of those that it would look at. */
unsigned long pinset_cold_pages(void)
{
	unsigned int scanned = 0;
	unsigned long pages = 0;
	struct pinset *set;

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

/* The coldest set (of one owner) of COLD_SCAN, with references to it and its region. Warm ones go to the list's end. */
static struct pinset *coldest(struct owner *owner)
{
	struct pinset *set, *next, *best = NULL, *moved = NULL;
	unsigned int scanned = 0;

	spin_lock(&sets_lock);
	list_for_each_entry_safe(set, next, &sets, lru) {
		if (set == moved || ++scanned > COLD_SCAN)
			break;
		if (!cold(set)) {
			moved = moved ?: set;
			list_move_tail(&set->lru, &sets);
		} else if ((!owner || set->region->owner == owner) &&
			   (!best || (s32)(READ_ONCE(set->used) - READ_ONCE(best->used)) < 0)) {
			best = set;
		}
	}
	/* On the list, so published, so both are alive. */
	if (best) {
		percpu_ref_get(&best->ref);
		percpu_ref_get(&best->region->ref);
	}
	spin_unlock(&sets_lock);
	return best;
}

/* Drops cold sets of an owner, or of all, until so many pages are on their way out; returns how many. */
unsigned long pinset_drop_cold(struct owner *owner, unsigned long pages)
{
	unsigned long dropped = 0;

	while (dropped < pages) {
		struct pinset *set = coldest(owner);
		struct region *region;

		if (!set)
			break;
		region = set->region;
		spin_lock(&region->lock);
		if (rcu_access_pointer(set->window->set) == set) {
			unpublish(set);
			dropped += set->pages;
		}
		spin_unlock(&region->lock);
		pinset_put(set);
		region_put(region);
	}
	/* What is waiting for its delay is room too. */
	pinset_unpin_now();
	return dropped;
}

/* --- unpinning --- */

/* No mapping shows the set any more. */
void pinset_retire(struct pinset *set)
{
	percpu_ref_kill(&set->ref);
}

/* The last user is gone: to be unpinned, after the delay. May run in an RCU callback. */
void pinset_released(struct percpu_ref *ref)
{
	struct pinset *set = container_of(ref, struct pinset, ref);
	unsigned long flags, delay = msecs_to_jiffies(READ_ONCE(param_unpin_delay_ms));

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

static void set_free(struct pinset *set)
{
	struct region *region = set->region;
	unsigned int i;

	for (i = 0; i < set->n; i++)
		unpin_user_page_range_dirty_lock(set->extents[i].page, set->extents[i].n, set->write);
	trace_kcoll_unpin(region->cookie, set->pages, set->n);
	stats_add(&stats_module, unpin_pages, set->pages);
	account_uncharge(region->owner, &set->charge);
	percpu_ref_exit(&set->ref);
	kvfree(set);
	spin_lock(&region->lock);
	region->sets--;
	spin_unlock(&region->lock);
	wake_up_all(&region->wait);
	region_put(region);
}

/* Moves to `now` what is due; false: nothing is left, else *due says when the next one will be. REQUIRES: dying_lock */
static bool take_due(struct list_head *now, unsigned long *due)
{
	struct pinset *set, *next;
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
	struct pinset *set, *next;
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

/* REQUIRES: no set is left, and none can be made. Its timer may still be armed. */
void pinset_stop(void)
{
	cancel_delayed_work_sync(&unpin);
}

/* Somebody waits for the room, or for the end: no delay for those that are dying now. */
void pinset_unpin_now(void)
{
	unsigned long flags;

	spin_lock_irqsave(&dying_lock, flags);
	if (!list_empty(&dying)) {
		unpin_hurry = true;
		mod_delayed_work(kcoll_wq, &unpin, 0);
	}
	spin_unlock_irqrestore(&dying_lock, flags);
}
