// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pin sets: how a window's pages are pinned, published and found. What becomes of a set afterwards
 * is in retire.c.
 *
 * A hit is pinset_tryget() and pinset_put(), in the header. A miss takes the window's lock, so that
 * one task pins and the others find what it has pinned; and pins through the owner's gate, so that
 * few tasks at a time take its mmap_lock. Under the window's lock it pins what is there without
 * waiting for a disk or a userfaultfd's handler (FOLL_NOWAIT). Who needs a page that is not there
 * waits for it without that lock, and then pins anew.
 */
#include <linux/fs.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "choice.h"
#include "compat.h"
#include "device.h"
#include "params.h"
#include "pin.h"
#include "pinset.h"
#include "pressure.h"
#include "stats.h"
#include "trace.h"

#define HOLE_TRIES 4 /* of one miss, to find what can be pinned beside pages that cannot */
#define UNCACHED_TRIES \
	8 /* of pages that their owner keeps changing, before they are used all the same */
#define MAX_RETRIES 32 /* of one miss, before it is left to an uncached copy */
#define EXIT_TIME HZ   /* that a task that exits waits for a window's lock */

static unsigned int write_flag(const struct kcoll_region *region)
{
	return region->direction & KCOLL_WRITE ? FOLL_WRITE : 0;
}

static struct kcoll_pinset *set_new(const struct kcoll_miss *miss,
				    const struct kcoll_charge *charge)
{
	unsigned int n = charge->pages, extents = kcoll_extent_count(miss->pages, n);
	struct kcoll_pinset *set = kvzalloc(struct_size(set, extents, extents), GFP_KERNEL_ACCOUNT);

	if (!set)
		return NULL;
	if (percpu_ref_init(&set->ref, kcoll_pinset_released, 0, GFP_KERNEL_ACCOUNT)) {
		kvfree(set);
		return NULL;
	}
	set->region = miss->segment->region;
	set->segment = miss->segment;
	set->window = miss->window;
	set->place = miss->place;
	set->start = miss->start;
	set->charge = *charge;
	set->pages = n;
	set->n = extents;
	set->used = jiffies / (HZ / 4);
	set->write = set->region->direction & KCOLL_WRITE;
	INIT_LIST_HEAD(&set->link);
	kcoll_extent_fill(set, miss->pages);
	return set;
}

/* REQUIRES: region->lock. What is in the window's other place goes if it has pages of this set. */
static void make_place(const struct kcoll_pinset *set)
{
	struct kcoll_region *region = set->region;
	struct kcoll_pinset *other = xa_load(&region->sets, set->place ^ 1);

	if (!other || other->start >= pinset_end(set) || set->start >= pinset_end(other))
		return;
	xa_erase(&region->sets, other->place);
	kcoll_pinset_unpublish(other);
}

/*
 * Invariant 1 of region.c. What was published in its place before goes. -EAGAIN: the owner
 * changed its memory meanwhile. REQUIRES: xa_reserve(), so that storing needs no memory, unless an
 * invalidation took the place away.
 */
static int publish(struct kcoll_pinset *set, unsigned long seq)
{
	struct kcoll_region *region = set->region;
	struct kcoll_pinset *old;
	int err = 0;

	spin_lock(&region->lock);
	if (region->dead) {
		err = -ENOENT;
	} else if (mmu_interval_read_retry(&set->segment->watch->notifier, seq)) {
		err = -EAGAIN;
	} else {
		old = xa_store(&region->sets, set->place, set, GFP_NOWAIT | __GFP_NOWARN);
		if (xa_is_err(old)) {
			err = -EAGAIN;
		} else {
			if (old)
				kcoll_pinset_unpublish(old);
			make_place(set);
			rcu_assign_pointer(region_slot(region, set->window)->set, set);
			region->live++;
			percpu_ref_get(&region->ref); /* until the set is freed */
			percpu_ref_get(&set->ref);    /* the caller's */
			kcoll_lru_add(set);
		}
	}
	spin_unlock(&region->lock);
	return err;
}

/*
 * -ENOMEM names no page: in memory that may be taken away (ZONE_MOVABLE, CMA), one that others hold
 * fails all that are pinned with it. Halves what failed until one page is left; 0: it cannot tell.
 */
static unsigned long find_held(struct kcoll_miss *miss, struct kcoll_pin_times *times)
{
	unsigned long low = miss->start, high = miss->end;

	while (high - low > PAGE_SIZE) {
		unsigned long half = ((high - low) / 2) & PAGE_MASK;
		long n = kcoll_pin_pages(miss->segment->region, low, half >> PAGE_SHIFT,
					 miss->flags, miss->pages, times);

		if (n > 0) {
			unpin_user_pages(miss->pages, n);
			low += (unsigned long)n << PAGE_SHIFT;
			if (n < half >> PAGE_SHIFT)
				break;
		} else if (n == -ENOMEM) {
			high = low + half;
		} else {
			if (n == -EFAULT || n == -EOPNOTSUPP || n == -EBUSY)
				break;
			return 0;
		}
		cond_resched();
	}
	return low;
}

/*
 * One attempt. A set of the pages before the first that fails; -EFAULT, -EOPNOTSUPP: without the
 * one at va; -EBUSY: it has to be waited for; -ENOMEM: none, also because of a page behind va.
 */
static struct kcoll_pinset *try_pin(struct kcoll_miss *miss, unsigned long va,
				    struct kcoll_pin_times *times)
{
	struct kcoll_region *region = miss->segment->region;
	unsigned long seq = mmu_interval_read_begin(&miss->segment->watch->notifier);
	struct kcoll_charge charge = miss->charge;
	struct kcoll_pinset *set;
	long n;
	int err;

	n = kcoll_pin_pages(region, miss->start, charge.pages, miss->flags, miss->pages, times);
	miss->failed = 0;
	if (n == -EFAULT || n == -EOPNOTSUPP || (n == -EBUSY && miss->start < PAGE_ALIGN_DOWN(va)))
		miss->failed = miss->start;
	else if (n == -ENOMEM && miss->search)
		miss->failed = find_held(miss, times);
	if (n < 0)
		return ERR_PTR(n);
	if (n < charge.pages)
		miss->failed = miss->start + ((unsigned long)n << PAGE_SHIFT);
	if (miss->failed && miss->failed <= va) {
		unpin_user_pages(miss->pages, n);
		return ERR_PTR(-EFAULT);
	}
	charge.pages = n;
	err = xa_reserve(&region->sets, miss->place, GFP_KERNEL_ACCOUNT);
	set = err ? NULL : set_new(miss, &charge);
	err = set ? publish(set, seq) : -ENOMEM;
	if (!err)
		return set;
	xa_release(&region->sets, miss->place);
	unpin_user_pages(miss->pages, n);
	if (set) {
		percpu_ref_exit(&set->ref);
		kvfree(set);
	}
	return ERR_PTR(err);
}

static struct kcoll_pinset *pin_chosen(struct kcoll_miss *miss, const struct kcoll_pin_need *need,
				       struct kcoll_pin_times *times)
{
	unsigned int n = (miss->end - miss->start) >> PAGE_SHIFT;
	struct kcoll_owner *owner = miss->segment->region->owner;
	struct kcoll_pinset *set;
	int err;

	if (!need->fault && !need->eager && kcoll_pressure_recent(owner))
		return ERR_PTR(-EDQUOT);
	err = kcoll_account_charge(owner, n, need->floor, &miss->charge);
	if (err)
		return ERR_PTR(err);
	for (;;) {
		set = try_pin(miss, need->va, times);
		if (PTR_ERR_OR_ZERO(set) != -EAGAIN || ++times->retries >= MAX_RETRIES)
			break;
		if (fatal_signal_pending(current)) {
			set = ERR_PTR(-EINTR);
			break;
		}
		cond_resched();
	}
	kcoll_account_uncharge(owner, &miss->charge, IS_ERR(set) ? n : n - set->pages);
	return set;
}

/* REQUIRES: slot->lock; nothing that covers need->va is published. */
static struct kcoll_pinset *pin_window(struct kcoll_miss *miss, const struct kcoll_pin_need *need,
				       struct kcoll_pin_times *times)
{
	struct kcoll_pinset *set = ERR_PTR(-EFAULT);
	unsigned long first = PAGE_ALIGN_DOWN(need->va);
	unsigned int tries;
	int err;

	if (miss->slot->window != miss->window) {
		miss->slot->window = miss->window;
		miss->slot->grown = 0;
		miss->slot->hole = 0;
	}
	miss->pages = kvmalloc_array(WINDOW_SIZE >> PAGE_SHIFT, sizeof(*miss->pages), GFP_KERNEL);
	if (!miss->pages)
		return ERR_PTR(-ENOMEM);
	for (tries = 0; tries < HOLE_TRIES; tries++) {
		err = kcoll_choice_make(miss, need);
		if (err) {
			set = ERR_PTR(err);
			break;
		}
		if (tries == HOLE_TRIES - 1) /* whatever fails before it */
			miss->start = first;
		miss->failed = 0;
		set = pin_chosen(miss, need, times);
		if (miss->failed)
			kcoll_choice_note(miss, miss->failed);
		/* Those beside a page that fails before those needed, or fails them, may do. */
		if (!IS_ERR(set) || !miss->failed || miss->failed == first ||
		    (miss->failed > first && PTR_ERR(set) != -ENOMEM))
			break;
	}
	kvfree(miss->pages);
	if (!IS_ERR(set) && miss->slot->grown < 2)
		miss->slot->grown++;
	return set;
}

static void count_pin(struct kcoll_region *region, struct kcoll_counters *stats,
		      const struct kcoll_pin_times *times)
{
	unsigned int bucket = kcoll_stats_conc_bucket(times->conc);

	stats_add(stats, gate_ns, times->gate_ns);
	stats_add(stats, lock_ns, times->lock_ns);
	stats_add(stats, pin_ns, times->pin_ns);
	stats_add(stats, retries, times->retries);
	stats_add_conc(stats, conc_pages, bucket, times->pages);
	stats_add_conc(stats, conc_ns, bucket, times->lock_ns + times->pin_ns);
	trace_kcoll_pin(region->cookie, times, current->mm != region->owner->mm);
}

/*
 * No signal reaches a task that exits, and faults in a mapping while the kernel looks at its robust
 * futexes: its wait has an end.
 */
static int lock_slot(struct kcoll_slot *slot)
{
	unsigned long until = jiffies + EXIT_TIME;

	if (!(current->flags & PF_EXITING))
		return mutex_lock_killable(&slot->lock);
	while (!mutex_trylock(&slot->lock)) {
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		schedule_timeout_uninterruptible(1);
	}
	return 0;
}

/* The set with a page, or an errno; -EBUSY: the page has to be waited for, without the lock. */
static struct kcoll_pinset *pin_under_lock(struct kcoll_miss *miss,
					   const struct kcoll_pin_need *need,
					   struct kcoll_counters *stats,
					   struct kcoll_pin_times *times)
{
	struct kcoll_region *region = miss->segment->region;
	struct kcoll_pin_times mine = {};
	struct kcoll_pinset *set;
	int err = lock_slot(miss->slot);

	if (err)
		return ERR_PTR(err);
	set = pinset_tryget(region, miss->window, need->va);
	if (set)
		goto unlock;
	if (READ_ONCE(region->dead))
		set = ERR_PTR(-ENOENT);
	else
		set = pin_window(miss, need, &mine);
	if (!IS_ERR(set)) {
		mine.pages = set->pages;
		mine.extents = set->n;
		stats_add(stats, pins, 1);
		stats_add(stats, pin_pages, mine.pages);
		stats_add(stats, pin_extents, mine.extents);
		count_pin(region, stats, &mine);
	}
	times->gate_ns += mine.gate_ns;
	times->lock_ns += mine.lock_ns;
	times->pin_ns += mine.pin_ns;
	times->retries += mine.retries;
	times->conc = max(times->conc, mine.conc);
unlock:
	mutex_unlock(&miss->slot->lock);
	return set;
}

/* Waits until the owner has the page at va, as long as it takes. */
static int bring_in(struct kcoll_region *region, unsigned long va, struct kcoll_pin_times *times)
{
	struct page *page;
	long n = kcoll_pin_pages(region, PAGE_ALIGN_DOWN(va), 1, write_flag(region), &page, times);

	if (n < 0)
		return n;
	unpin_user_page(page);
	return 0;
}

/**
 * kcoll_pinset_pin() - a set with a page, pinned unless another task has just done so
 * @segment: the segment
 * @need: what is needed
 * @stats: where it is counted
 * @times: out: what it cost, added up
 *
 * Return: the set, with a reference; ERR_PTR: -EINTR; -ETIMEDOUT (this task exits); -ENOENT (the
 * region has ended); -ESRCH; -EFAULT; -EOPNOTSUPP; -ENOMEM; -EDQUOT (no allowance, or scarce
 * memory); -EAGAIN (the owner keeps changing its memory). After the last five an uncached copy may
 * do.
 */
struct kcoll_pinset *kcoll_pinset_pin(struct kcoll_segment *segment,
				      const struct kcoll_pin_need *need,
				      struct kcoll_counters *stats, struct kcoll_pin_times *times)
{
	struct kcoll_region *region = segment->region;
	unsigned long window = segment_window(segment, need->va);
	struct kcoll_miss miss = { .segment = segment,
				   .window = window,
				   .slot = region_slot(region, window),
				   .flags = FOLL_LONGTERM | write_flag(region) };
	struct kcoll_pinset *set;
	unsigned int tries;
	int err;

	/* Of a region that is being registered, no other task needs anything. */
	if (!need->eager)
		miss.flags |= FOLL_NOWAIT;
	for (tries = 0; tries < MAX_RETRIES; tries++) {
		set = pin_under_lock(&miss, need, stats, times);
		/* -EFAULT may be of an attempt that ended before it: a fault looks again. */
		if (set != ERR_PTR(-EBUSY) && (set != ERR_PTR(-EFAULT) || !need->fault))
			return set;
		err = bring_in(region, need->va, times);
		if (err)
			return ERR_PTR(err);
	}
	return set == ERR_PTR(-EBUSY) ? ERR_PTR(-EAGAIN) : set;
}

/* One attempt. -EAGAIN: the owner changed its memory meanwhile. */
static long try_uncached(struct kcoll_segment *segment, unsigned long va, unsigned int n,
			 bool write, struct page **pages, bool last, struct kcoll_pin_times *times)
{
	unsigned long seq = mmu_interval_read_begin(&segment->watch->notifier);
	long pinned = kcoll_pin_pages(segment->region, va, n, write ? FOLL_WRITE : 0, pages, times);
	int err;

	if (pinned < 0)
		return pinned;
	/*
	 * Only now: pinning may wait for as long as the owner's page takes, and UNREGISTER for what
	 * has begun.
	 */
	err = kcoll_region_uncached_begin(segment, seq, last);
	if (!err)
		return pinned;
	unpin_user_pages(pages, pinned);
	if (err == -EAGAIN && fatal_signal_pending(current))
		return -EINTR;
	return err;
}

/**
 * kcoll_pinset_pin_uncached() - pins pages for one uncached copy
 * @segment: the segment
 * @va: the owner's address
 * @n: how many pages, at most
 * @write: whether they are written
 * @pages: out: the pages
 * @stats: where it is counted
 * @times: out: what it cost, added up
 *
 * Return: how many; the caller unpins them and calls kcoll_region_uncached_end(). Or an errno.
 */
long kcoll_pinset_pin_uncached(struct kcoll_segment *segment, unsigned long va, unsigned int n,
			       bool write, struct page **pages, struct kcoll_counters *stats,
			       struct kcoll_pin_times *times)
{
	struct kcoll_pin_times mine = {};
	unsigned int tries = 0;
	long pinned;

	for (;;) {
		pinned = try_uncached(segment, va, n, write, pages, ++tries == UNCACHED_TRIES,
				      &mine);
		if (pinned != -EAGAIN)
			break;
		cond_resched();
	}
	if (pinned < 0)
		return pinned;
	mine.pages = pinned;
	mine.extents = pinned;
	stats_add(stats, pages_uncached, pinned);
	count_pin(segment->region, stats, &mine);
	times->gate_ns += mine.gate_ns;
	times->lock_ns += mine.lock_ns;
	times->pin_ns += mine.pin_ns;
	times->conc = max(times->conc, mine.conc);
	return pinned;
}
