// SPDX-License-Identifier: GPL-2.0
/*
 * Pin sets: how a window's pages are pinned, published and found. What becomes of a set afterwards is in retire.c.
 *
 * A hit is pinset_tryget() and pinset_put(), in the header. A miss takes the window's lock, so that one task pins and the
 * others find what it has pinned; and pins through the owner's gate, so that few tasks at a time take its mmap_lock.
 */
#include <linux/hugetlb.h>
#include <linux/magic.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "device.h"
#include "params.h"
#include "pinset.h"
#include "stats.h"
#include "trace.h"

#define MAX_RETRIES 32 /* of one miss, before it is left to an uncached copy */

/* Memory whose pages may be held: anonymous, shared memory, huge pages. File systems would have to know of our writes. */
static bool vma_allowed(const struct vm_area_struct *vma)
{
	unsigned long magic;

	if (vma->vm_flags & (VM_IO | VM_PFNMAP))
		return false;
	if (!vma->vm_file)
		return true;
	magic = file_inode(vma->vm_file)->i_sb->s_magic;
	return magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC || vma_is_anonymous((struct vm_area_struct *)vma);
}

/* REQUIRES: mmap_lock */
static int check_vmas(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	while (start < end) {
		struct vm_area_struct *vma = find_vma(mm, start);

		if (!vma || vma->vm_start > start)
			return -EFAULT;
		if (!vma_allowed(vma))
			return -EOPNOTSUPP;
		start = vma->vm_end;
	}
	return 0;
}

/*
 * Pins n pages from start, all or none, through the owner's gate. -ESRCH: the owner is gone; -EINTR: killed;
 * -EFAULT, -EOPNOTSUPP: what is mapped there, if anything.
 */
static int pin_pages(struct region *region, unsigned long start, unsigned int n, unsigned int flags,
		     struct page **pages, struct pin_times *times)
{
	struct owner *owner = region->owner;
	struct mm_struct *mm = owner->mm;
	u64 t0 = ktime_get_ns(), t1, t2 = 0, t3 = 0;
	long pinned = 0;
	int locked = 1, err;

	err = gate_enter(&owner->gate, region->gate_limit, &times->conc);
	t1 = ktime_get_ns();
	times->gate_ns += t1 - t0;
	if (err)
		return err;
	if (!mmget_not_zero(mm)) {
		gate_leave(&owner->gate, 0, 0);
		return -ESRCH;
	}
	err = mmap_read_lock_killable(mm);
	t2 = ktime_get_ns();
	if (!err) {
		err = check_vmas(mm, start, start + ((unsigned long)n << PAGE_SHIFT));
		if (!err)
			pinned = kcoll_pin_remote(mm, start, n, flags, pages, &locked);
		if (locked)
			mmap_read_unlock(mm);
	}
	t3 = ktime_get_ns();
	gate_leave(&owner->gate, t2 - t1, t3 - t2);
	/* May be the last reference, and then tears the address space down: not in here. */
	mmput_async(mm);
	times->lock_ns += t2 - t1;
	times->pin_ns += t3 - t2;
	if (err)
		return err;
	if (pinned == n)
		return 0;
	if (pinned > 0)
		unpin_user_pages(pages, pinned);
	if (fatal_signal_pending(current))
		return -EINTR;
	return pinned == -ENOMEM ? -ENOMEM : -EFAULT;
}

static unsigned int count_extents(struct page **pages, unsigned int n)
{
	unsigned int i, extents = 1;

	for (i = 1; i < n; i++)
		extents += pages[i] != pages[i - 1] + 1 || page_to_pfn(pages[i]) != page_to_pfn(pages[i - 1]) + 1;
	return extents;
}

static void fill_extents(struct pinset *set, struct page **pages)
{
	struct extent *extent = set->extents;
	unsigned int i;

	*extent = (struct extent){ .page = pages[0], .n = 1 };
	for (i = 1; i < set->pages; i++) {
		if (pages[i] == pages[i - 1] + 1 && page_to_pfn(pages[i]) == page_to_pfn(pages[i - 1]) + 1)
			extent->n++;
		else
			*++extent = (struct extent){ .page = pages[i], .first = i, .n = 1 };
	}
}

static struct pinset *set_new(struct segment *segment, struct window *window, struct page **pages, unsigned long start,
			      const struct charge *charge)
{
	unsigned int n = charge->pages, extents = count_extents(pages, n);
	struct pinset *set = kvzalloc(struct_size(set, extents, extents), GFP_KERNEL_ACCOUNT);

	if (!set)
		return NULL;
	if (percpu_ref_init(&set->ref, pinset_released, 0, GFP_KERNEL)) {
		kvfree(set);
		return NULL;
	}
	set->region = segment->region;
	set->segment = segment;
	set->window = window;
	set->start = start;
	set->charge = *charge;
	set->pages = n;
	set->n = extents;
	set->used = jiffies / (HZ / 4);
	set->write = segment->region->direction & KCOLL_WRITE;
	INIT_LIST_HEAD(&set->lru);
	INIT_LIST_HEAD(&set->link);
	fill_extents(set, pages);
	return set;
}

/* Invariant 1 of region.c. -EAGAIN: the owner changed its memory meanwhile. */
static int publish(struct pinset *set, unsigned long seq)
{
	struct region *region = set->region;
	int err = 0;

	spin_lock(&region->lock);
	if (region->dead) {
		err = -ENOENT;
	} else if (mmu_interval_read_retry(&set->segment->notifier, seq)) {
		err = -EAGAIN;
	} else {
		region->sets++;
		percpu_ref_get(&region->ref); /* until the set is freed */
		percpu_ref_get(&set->ref);    /* the caller's */
		rcu_assign_pointer(set->window->set, set);
		pinset_enlist(set);
	}
	spin_unlock(&region->lock);
	return err;
}

/* One attempt. REQUIRES: window->lock */
static struct pinset *try_pin(struct segment *segment, struct window *window, unsigned long start,
			      const struct charge *charge, struct page **pages, struct pin_times *times)
{
	struct region *region = segment->region;
	unsigned int flags = FOLL_LONGTERM | (region->direction & KCOLL_WRITE ? FOLL_WRITE : 0);
	unsigned long n = charge->pages, seq = mmu_interval_read_begin(&segment->notifier);
	struct pinset *set;
	int err;

	err = pin_pages(region, start, n, flags, pages, times);
	if (err)
		return ERR_PTR(err);
	set = set_new(segment, window, pages, start, charge);
	err = set ? publish(set, seq) : -ENOMEM;
	if (!err)
		return set;
	unpin_user_pages(pages, n);
	if (set) {
		percpu_ref_exit(&set->ref);
		kvfree(set);
	}
	return ERR_PTR(err);
}

static struct pinset *pin_window(struct segment *segment, struct window *window, struct pin_times *times)
{
	unsigned long base = (segment->start >> WINDOW_SHIFT) + (window - segment->region->windows) - segment->first;
	unsigned long start = max(PAGE_ALIGN_DOWN(segment->start), base << WINDOW_SHIFT);
	unsigned long end = min(PAGE_ALIGN(segment->end), (base + 1) << WINDOW_SHIFT);
	unsigned int n = (end - start) >> PAGE_SHIFT;
	struct owner *owner = segment->region->owner;
	struct page **pages;
	struct charge charge;
	struct pinset *set;
	int err;

	err = account_charge(owner, n, &charge);
	if (err)
		return ERR_PTR(err);
	pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL);
	if (!pages) {
		account_uncharge(owner, &charge);
		return ERR_PTR(-ENOMEM);
	}
	for (;;) {
		set = try_pin(segment, window, start, &charge, pages, times);
		if (PTR_ERR_OR_ZERO(set) != -EAGAIN || ++times->retries == MAX_RETRIES)
			break;
		if (fatal_signal_pending(current)) {
			set = ERR_PTR(-EINTR);
			break;
		}
		cond_resched();
	}
	kvfree(pages);
	if (IS_ERR(set))
		account_uncharge(owner, &charge);
	return set;
}

static void count_pin(struct region *region, struct stats *stats, const struct pin_times *times)
{
	unsigned int bucket = stats_conc_bucket(times->conc);

	stats_add(stats, gate_ns, times->gate_ns);
	stats_add(stats, lock_ns, times->lock_ns);
	stats_add(stats, pin_ns, times->pin_ns);
	stats_add(stats, retries, times->retries);
	stats_add_conc(stats, conc_pages, bucket, times->pages);
	stats_add_conc(stats, conc_ns, bucket, times->lock_ns + times->pin_ns);
	trace_kcoll_pin(region->cookie, times, current->mm != region->owner->mm);
}

/*
 * The window's set, pinned now unless another task has just done so; with a reference for the caller.
 * ERR_PTR: EINTR; ENOENT (the region has ended); ESRCH; EFAULT; EOPNOTSUPP; ENOMEM (no allowance) and
 * EAGAIN (the owner keeps changing its memory), after both of which an uncached copy may do.
 */
struct pinset *pinset_pin(struct segment *segment, struct window *window, struct stats *stats, struct pin_times *times)
{
	struct pin_times mine = {};
	struct pinset *set;

	if (mutex_lock_killable(&window->lock))
		return ERR_PTR(-EINTR);
	set = pinset_tryget(window);
	if (set)
		goto unlock;
	if (READ_ONCE(segment->region->dead))
		set = ERR_PTR(-ENOENT);
	else
		set = pin_window(segment, window, &mine);
	if (!IS_ERR(set)) {
		mine.pages = set->pages;
		mine.extents = set->n;
		stats_add(stats, pins, 1);
		stats_add(stats, pin_pages, mine.pages);
		stats_add(stats, pin_extents, mine.extents);
		count_pin(segment->region, stats, &mine);
	}
	times->gate_ns += mine.gate_ns;
	times->lock_ns += mine.lock_ns;
	times->pin_ns += mine.pin_ns;
	times->retries += mine.retries;
	times->conc = max(times->conc, mine.conc);
unlock:
	mutex_unlock(&window->lock);
	return set;
}

/* Pins n pages for one uncached copy; the caller unpins them. */
long pinset_pin_uncached(struct segment *segment, unsigned long va, unsigned int n, bool write, struct page **pages,
			 struct stats *stats, struct pin_times *times)
{
	struct pin_times mine = { .pages = n, .extents = n };
	int err;

	err = pin_pages(segment->region, va, n, write ? FOLL_WRITE : 0, pages, &mine);
	if (err)
		return err;
	stats_add(stats, pages_uncached, n);
	count_pin(segment->region, stats, &mine);
	times->gate_ns += mine.gate_ns;
	times->lock_ns += mine.lock_ns;
	times->pin_ns += mine.pin_ns;
	times->conc = max(times->conc, mine.conc);
	return n;
}

/* REQUIRES: page < set->pages */
struct extent *pinset_extent(struct pinset *set, u32 page)
{
	u32 low = 0, high = set->n;

	if (set->n == set->pages)
		return &set->extents[page];
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (set->extents[middle].first <= page)
			low = middle;
		else
			high = middle;
	}
	return &set->extents[low];
}
