// SPDX-License-Identifier: GPL-2.0-only
/*
 * How pin sets end.
 *
 *   kcoll_pinset_unpublish()  invalidation, end of the region, pressure: region->dropped, zap work
 *   kcoll_pinset_retire()     gone from all mappings: waits for its last user, without sleeping
 *   kcoll_pinset_released()   the last user is gone: list of the dying
 *   unpin_work()              unpins after unpin_delay_ms, gives the charge back, frees
 *
 * The delay keeps a fork that splits a huge page of ours from finding half of it unpinned. What is
 * dropped because others want the room has none. Long loops drop in batches. Each user has a list
 * and a work item: however much one gives up, others do not wait for it.
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
#include "user.h"

/* Wakes those who wait for room. */
static atomic_t freed = ATOMIC_INIT(0); /* sets of all users */
DECLARE_WAIT_QUEUE_HEAD(kcoll_pinset_room);

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
	kcoll_lru_remove(set);
	atomic_long_add(set->charge.pages, &region->owner->dropped_pages);
	atomic_long_add(set->charge.pages, &region->owner->user->dropped_pages);
	list_add_tail(&set->link, &region->dropped);
	region->drops++;
	percpu_ref_get(&region->ref);
	if (!queue_work(kcoll_wq, &region->zap_work))
		percpu_ref_put(&region->ref);
}

/* REQUIRES: region->lock */
static void drop(struct kcoll_pinset *set)
{
	xa_erase(&set->region->sets, set->place);
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
	unsigned long i, first = window_place(segment_window(segment, start), false);
	unsigned long last = window_place(segment_window(segment, end - 1), true);
	unsigned int dropped = 0;
	struct kcoll_pinset *set;

	xa_for_each_range(&region->sets, i, set, first, last) {
		if (set->start >= end || pinset_end(set) <= start)
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

/* The opposite of kcoll_lru_oldest(). */
static void let_go(struct kcoll_pinset *set)
{
	struct kcoll_region *region = set->region;

	pinset_put(set);
	kcoll_region_put(region);
}

/**
 * kcoll_pinset_drop_held() - drops a set, unless it is dropped already, and lets go of it
 * @set: the pin set, with references to it and its region
 *
 * Return: how many pages are on their way out; 0: it was dropped already.
 */
unsigned long kcoll_pinset_drop_held(struct kcoll_pinset *set)
{
	struct kcoll_region *region = set->region;
	unsigned long pages = 0;

	spin_lock(&region->lock);
	if (xa_load(&region->sets, set->place) == set) {
		set->for_room = true;
		drop(set);
		pages = set->pages;
	}
	spin_unlock(&region->lock);
	let_go(set);
	return pages;
}

/**
 * kcoll_pinset_drop() - drops the sets that were not used for longest
 * @lru: whose
 * @pages: how many pages are to be on their way out
 * @most: and how many must not be exceeded
 * @warm: also sets that were used within a second
 *
 * Their users go on with what they hold.
 *
 * Context: may sleep.
 * Return: how many pages are on their way out.
 */
unsigned long kcoll_pinset_drop(struct kcoll_lru *lru, unsigned long pages, unsigned long most,
				bool warm)
{
	unsigned long dropped = 0;
	struct kcoll_pinset *set;

	while (dropped < pages && (set = kcoll_lru_oldest(lru, warm))) {
		if (set->pages > most - dropped) {
			let_go(set);
			break;
		}
		dropped += kcoll_pinset_drop_held(set);
		cond_resched();
	}
	return dropped;
}

/* --- unpinning --- */

/**
 * kcoll_pinset_freed() - how many sets were freed, to be waited for
 * @user: who waits
 *
 * Return: the counts.
 */
struct kcoll_freed kcoll_pinset_freed(const struct kcoll_user *user)
{
	return (struct kcoll_freed){ .own = atomic_read(&user->unpinned),
				     .all = atomic_read(&freed) };
}

/* While a user is refused pages of its share, others make room for it, too. */
static bool may_have_room(const struct kcoll_user *user, struct kcoll_freed seen)
{
	struct kcoll_freed now = kcoll_pinset_freed(user);

	return now.own != seen.own || (now.all != seen.all && kcoll_account_contended());
}

/**
 * kcoll_pinset_wait_freed() - until a set is freed that may have made room, or for some time
 * @user: who waits
 * @seen: from kcoll_pinset_freed()
 *
 * Return: 0; -EINTR: a signal.
 */
int kcoll_pinset_wait_freed(const struct kcoll_user *user, struct kcoll_freed seen)
{
	return wait_event_interruptible_timeout(kcoll_pinset_room, may_have_room(user, seen),
						HZ / 20) < 0 ?
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

/* REQUIRES: dying->lock. The work runs at `when`, in jiffies, or before. */
static void arm(struct kcoll_dying *dying, unsigned long when)
{
	if (dying->armed && time_before_eq(dying->armed_for, when))
		return;
	dying->armed = true;
	dying->armed_for = when;
	mod_delayed_work(kcoll_wq, &dying->unpin, max(0L, (long)(when - jiffies)));
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
	struct kcoll_dying *dying = &set->region->owner->user->dying;

	/* UNREGISTER waits for it, and no task will pin there again. */
	if (set->for_room || READ_ONCE(set->region->dead))
		delay = 0;
	set->due = jiffies + delay;
	atomic_inc(&dying->unfreed);
	spin_lock_irqsave(&dying->lock, flags);
	list_add_tail(&set->link, &dying->come);
	arm(dying, set->due);
	spin_unlock_irqrestore(&dying->lock, flags);
}

static void set_free(struct kcoll_pinset *set)
{
	struct kcoll_region *region = set->region;
	struct kcoll_owner *owner = region->owner;
	unsigned int i;

	for (i = 0; i < set->n; i++)
		unpin_user_page_range_dirty_lock(set->extents[i].page, set->extents[i].n,
						 set->write);
	trace_kcoll_unpin(region->cookie, set->pages, set->n);
	stats_add(&region->domain->events, unpin_pages, set->pages);
	atomic_long_sub(set->charge.pages, &owner->dropped_pages);
	atomic_long_sub(set->charge.pages, &owner->user->dropped_pages);
	kcoll_account_uncharge(owner, &set->charge, set->charge.pages);
	atomic_inc(&owner->user->unpinned);
	atomic_inc(&freed);
	if (wq_has_sleeper(&kcoll_pinset_room))
		wake_up_all(&kcoll_pinset_room);
	percpu_ref_exit(&set->ref);
	kvfree(set);
	atomic_dec(&owner->user->dying.unfreed);
	spin_lock(&region->lock);
	region->live--;
	spin_unlock(&region->lock);
	wake_up_all(&region->wait);
	kcoll_region_put(region);
}

/*
 * Behind those that are due before it. All have the same delay, unless that was changed meanwhile:
 * so its place is the end.
 */
static void wait_for_delay(struct kcoll_dying *dying, struct kcoll_pinset *set)
{
	struct kcoll_pinset *before;

	list_for_each_entry_reverse(before, &dying->waiting, link)
		if (time_before_eq(before->due, set->due))
			break;
	list_move(&set->link, &before->link);
}

static void free_due(struct list_head *sets, bool all)
{
	struct kcoll_pinset *set, *next;

	list_for_each_entry_safe(set, next, sets, link) {
		if (!all && time_before(jiffies, set->due))
			break;
		list_del(&set->link);
		set_free(set);
		cond_resched();
	}
}

/* Interrupts are off only while what has come is taken over, however much it is. */
static void unpin_work(struct work_struct *work)
{
	struct kcoll_dying *dying = container_of(work, struct kcoll_dying, unpin.work);
	struct kcoll_pinset *set, *next;
	LIST_HEAD(come);
	bool all;

	spin_lock_irq(&dying->lock);
	list_splice_init(&dying->come, &come);
	all = dying->hurry;
	dying->hurry = false;
	dying->armed = false;
	spin_unlock_irq(&dying->lock);

	if (!all) {
		list_for_each_entry_safe(set, next, &come, link) {
			if (time_before(jiffies, set->due))
				wait_for_delay(dying, set);
			cond_resched();
		}
	}
	free_due(&come, true);
	free_due(&dying->waiting, all);

	set = list_first_entry_or_null(&dying->waiting, struct kcoll_pinset, link);
	if (set) {
		spin_lock_irq(&dying->lock);
		arm(dying, set->due);
		spin_unlock_irq(&dying->lock);
	}
}

/**
 * kcoll_dying_init() - no set is dying
 * @dying: of a user
 */
void kcoll_dying_init(struct kcoll_dying *dying)
{
	spin_lock_init(&dying->lock);
	INIT_LIST_HEAD(&dying->come);
	INIT_LIST_HEAD(&dying->waiting);
	INIT_DELAYED_WORK(&dying->unpin, unpin_work);
}

/**
 * kcoll_dying_stop() - no set is left, but the work may still run, or its timer be armed
 * @dying: of a user that is going
 *
 * Context: may sleep.
 */
void kcoll_dying_stop(struct kcoll_dying *dying)
{
	cancel_delayed_work_sync(&dying->unpin);
}

/**
 * kcoll_dying_unpin_now() - no delay for those that are dying now
 * @dying: of a user
 *
 * For who waits for the room, or for the end.
 */
void kcoll_dying_unpin_now(struct kcoll_dying *dying)
{
	unsigned long flags;

	if (!atomic_read(&dying->unfreed))
		return;
	spin_lock_irqsave(&dying->lock, flags);
	dying->hurry = true;
	arm(dying, jiffies);
	spin_unlock_irqrestore(&dying->lock, flags);
}
