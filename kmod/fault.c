// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of mappings.
 *
 * A fault that misses must pin, and pinning takes the owner's mmap_lock: it drops the peer's first
 * (two processes that map each other would deadlock otherwise) and asks for the fault to be
 * repeated. What went wrong is told to the repeated fault, and to no other, through a note
 * (region->notes). Pages are not refcounted by the mapping (VM_PFNMAP): get_user_pages() on it
 * fails, by design.
 *
 * Where the allowance is used up, a fault drops other sets of its owner, and waits until they are
 * gone; it is granted a few pages in any case. While memory is scarce it pins few at a time. What
 * cannot be served raises SIGBUS, or in a quiet mapping shows the region's blank page. That page
 * lives as long as the region, to which every mapping holds a reference. The generation moves on
 * before the page appears, and the page is removed (kcoll_map_remove_blanks) before a generation is
 * handed out in which the mapping is to hold again.
 */
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "domain.h"
#include "fault.h"
#include "map.h"
#include "note.h"
#include "params.h"
#include "pinset.h"
#include "pressure.h"
#include "trace.h"

#define AROUND 64     /* pages that one fault maps, if the set has them */
#define WHOLE_TRIES 4 /* of a fault to have a whole window pinned; then it is content with less */
#define FEW (16UL << PAGE_SHIFT) /* bytes that it asks for then */
#define HELD_TIME HZ		 /* that it tries to pin one page that others hold */

/* Where in the region a fault is; false: beyond its end. */
static bool fault_place(struct vm_fault *vmf, struct kcoll_region *region,
			struct kcoll_segment **segment, unsigned long *va)
{
	u64 offset = ((u64)vmf->pgoff << PAGE_SHIFT) - map_base(region);

	if (offset >= region->len)
		return false;
	*segment = kcoll_region_segment(region, offset);
	*va = (*segment)->start + (offset - (*segment)->offset);
	return true;
}

/* REQUIRES: map_sem. The published set for a page, with a reference. */
static struct kcoll_pinset *published(struct kcoll_region *region, struct kcoll_segment *segment,
				      unsigned long va)
{
	return READ_ONCE(region->dead) ? NULL :
					 pinset_tryget(region, segment_window(segment, va), va);
}

/*
 * REQUIRES: map_sem. Whether another fault has mapped all 2 MiB since this one fell back to single
 * pages: no table for those can be put in its place.
 */
static bool mapped_huge(const struct vm_fault *vmf)
{
	return pmd_trans_huge(READ_ONCE(*vmf->pmd));
}

static vm_fault_t insert_pages(struct vm_fault *vmf, struct kcoll_pinset *set, unsigned long va)
{
	struct vm_area_struct *vma = vmf->vma;
	u32 page = (va - set->start) >> PAGE_SHIFT, i, n;
	vm_fault_t ret = VM_FAULT_NOPAGE;

	n = min_t(u32, AROUND, set->pages - page);
	n = min_t(u32, n, (vma->vm_end - (vmf->address & PAGE_MASK)) >> PAGE_SHIFT);
	for (i = 0; i < n; i++) {
		struct kcoll_extent *extent = kcoll_pinset_extent(set, page + i);
		unsigned long pfn = page_to_pfn(extent->page) + (page + i - extent->first);
		unsigned long at = (vmf->address & PAGE_MASK) + ((unsigned long)i << PAGE_SHIFT);
		vm_fault_t one = vmf_insert_pfn(vma, at, pfn);

		/* Only the first was asked for; it also fails only for want of memory. */
		if (one != VM_FAULT_NOPAGE)
			return i ? ret : one;
	}
	return ret;
}

/* Inserts from a published set; 0: there is none. */
static vm_fault_t fault_hit(struct vm_fault *vmf, struct kcoll_region *region,
			    struct kcoll_segment *segment, unsigned long va)
{
	struct kcoll_pinset *set;
	vm_fault_t ret = 0;

	down_read(&region->map_sem);
	set = published(region, segment, va);
	if (set) {
		ret = mapped_huge(vmf) ? VM_FAULT_NOPAGE : insert_pages(vmf, set, va);
		pinset_put(set);
	}
	up_read(&region->map_sem);
	return ret;
}

/*
 * After -ENOMEM: in memory that may be taken away (ZONE_MOVABLE, CMA), a page that others hold, as
 * direct I/O or process_vm_readv() do for a moment, can neither be pinned for long nor moved to
 * where it could be; and fails the pages around it. So half as many are tried, at last the one
 * that is needed, once a millisecond: who reads it again and again leaves it for short times only.
 * Returns whether to try again, and whether a signal came: in a fault that is repeated (again),
 * as the kernel repeats its own whatever signals are pending, only one that kills.
 */
static bool ask_for_less(struct kcoll_pin_need *need, bool again, unsigned long *until,
			 bool *interrupted)
{
	ktime_t pause = NSEC_PER_MSEC;

	need->floor = true;
	if (need->want > PAGE_SIZE) {
		need->want /= 2;
		return true;
	}
	if (!*until)
		*until = (jiffies + HELD_TIME) | 1; /* not 0 */
	set_current_state(again ? TASK_KILLABLE : TASK_INTERRUPTIBLE);
	schedule_hrtimeout_range(&pause, NSEC_PER_MSEC / 2, HRTIMER_MODE_REL);
	*interrupted = again ? fatal_signal_pending(current) : signal_pending(current);
	return time_before(jiffies, *until);
}

/*
 * A mapping cannot do without pinned pages, as a copy can: others give way until there is room. A
 * signal ends the wait, but for one more attempt with what is always granted: who is interrupted
 * again and again gets on. The access is then repeated, if at all. *until: until when it waits for
 * a page that others hold, in jiffies; 0: it does not yet.
 */
static int pin_for_fault(struct kcoll_segment *segment, unsigned long va, bool again,
			 unsigned long *until)
{
	struct kcoll_pin_need need = { .va = va, .want = PIN_WHOLE, .fault = true };
	struct kcoll_owner *owner = segment->region->owner;
	struct kcoll_pin_times times = {};
	bool interrupted = false;
	unsigned int tries;
	struct kcoll_pinset *set;
	struct kcoll_freed seen;

	if (kcoll_account_hopeless(owner, need.want >> PAGE_SHIFT) ||
	    kcoll_pressure_recent(owner)) {
		need.want = FEW;
		need.floor = true;
	}
	for (tries = 1;; tries++) {
		seen = kcoll_pinset_freed(owner->user);
		set = kcoll_pinset_pin(segment, &need, &segment->region->domain->events, &times);
		if (!IS_ERR(set)) {
			pinset_put(set);
			*until = 0;
			return 0;
		}
		if (PTR_ERR(set) != -EDQUOT && PTR_ERR(set) != -ENOMEM)
			break;
		if (interrupted)
			return 0;
		if (PTR_ERR(set) == -ENOMEM) {
			if (ask_for_less(&need, again, until, &interrupted))
				continue;
			break;
		}
		kcoll_account_make_room(owner, need.want >> PAGE_SHIFT);
		interrupted = kcoll_pinset_wait_freed(owner->user, seen);
		if (interrupted || tries >= WHOLE_TRIES) {
			need.want = min_t(u64, need.want, FEW);
			need.floor = true;
		}
	}
	/* What changed meanwhile is looked at anew. */
	return PTR_ERR(set) == -EINTR || PTR_ERR(set) == -EAGAIN ? 0 : PTR_ERR(set);
}

static vm_fault_t fault_miss(struct vm_fault *vmf, struct kcoll_region *region,
			     struct kcoll_segment *segment, unsigned long va)
{
	unsigned long address = vmf->address & PAGE_MASK, until = 0;
	bool again = vmf->flags & FAULT_FLAG_TRIED;
	struct kcoll_fault_note note;
	int err;

	if (READ_ONCE(region->dead))
		return VM_FAULT_SIGBUS;
	/* A first attempt takes away what one that was given up, by a signal, has left. */
	note = note_take(region, address);
	if (note.until && time_before(jiffies, note.until + HELD_TIME))
		until = note.until; /* the same wait goes on, or was given up just now */
	if (note.err && (again || until))
		return VM_FAULT_SIGBUS;
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) || (vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return VM_FAULT_SIGBUS;

	/* Without the lock the mapping, and its reference, may go away. */
	percpu_ref_get(&region->ref);
	kcoll_release_fault_lock(vmf);
	err = pin_for_fault(segment, va, again, &until);
	if (err || until)
		note_leave(region, address, err, until);
	kcoll_region_put(region);
	return VM_FAULT_RETRY;
}

/**
 * kcoll_fault_serve() - serves a fault of a mapping
 * @vmf: the fault
 *
 * Return: VM_FAULT_NOPAGE, VM_FAULT_RETRY, VM_FAULT_OOM or VM_FAULT_SIGBUS.
 */
vm_fault_t kcoll_fault_serve(struct vm_fault *vmf)
{
	struct kcoll_region *region = mapped_region(vmf->vma);
	struct kcoll_segment *segment;
	unsigned long va;
	vm_fault_t ret;

	if (!fault_place(vmf, region, &segment, &va))
		return VM_FAULT_SIGBUS;
	stats_add(&region->domain->events, faults, 1);
	trace_kcoll_fault(region->cookie, va, false);
	ret = fault_hit(vmf, region, segment, va);
	return ret ?: fault_miss(vmf, region, segment, va);
}

/* REQUIRES: map_sem */
static vm_fault_t insert_blank(struct vm_fault *vmf, struct kcoll_region *region)
{
	WRITE_ONCE(region->blanks, true);
	spin_lock(&region->lock);
	if (!region->dead)
		generation_bump(&region->gen);
	spin_unlock(&region->lock);
	return vmf_insert_pfn(vmf->vma, vmf->address & PAGE_MASK, page_to_pfn(region->blank));
}

/**
 * kcoll_fault_serve_quiet() - the same, without SIGBUS
 * @vmf: the fault
 *
 * What cannot be served shows a page of no process's memory, after the generation has moved on.
 *
 * Return: VM_FAULT_NOPAGE, VM_FAULT_RETRY or VM_FAULT_OOM.
 */
vm_fault_t kcoll_fault_serve_quiet(struct vm_fault *vmf)
{
	struct kcoll_region *region = mapped_region(vmf->vma);
	vm_fault_t ret = kcoll_fault_serve(vmf);

	if (!(ret & VM_FAULT_SIGBUS))
		return ret;
	down_read(&region->map_sem);
	ret = mapped_huge(vmf) ? VM_FAULT_NOPAGE : insert_blank(vmf, region);
	up_read(&region->map_sem);
	return ret;
}

#if KCOLL_HUGE_MAP
/* REQUIRES: map_sem for writing. Whether a table of single pages is there since the fault began. */
static bool pages_mapped(const struct vm_fault *vmf)
{
	pmd_t pmd = READ_ONCE(*vmf->pmd);

	return !pmd_none(pmd) && !pmd_trans_huge(pmd);
}

/*
 * The same: whether other 2 MiB than these are there, of a set that was unpublished since, which a
 * zap is to remove: the kernel warns of who changes an entry.
 */
static bool others_mapped(const struct vm_fault *vmf, unsigned long pfn)
{
	pmd_t pmd = READ_ONCE(*vmf->pmd);

	return pmd_trans_huge(pmd) && pmd_pfn(pmd) != pfn;
}

/* REQUIRES: map_sem for writing. Maps a set as one, if its pages are one. */
static vm_fault_t map_huge(struct vm_fault *vmf, struct kcoll_region *region,
			   struct kcoll_pinset *set, unsigned long va)
{
	unsigned long pfn = page_to_pfn(set->extents[0].page);

	if (set->pages != PMD_SIZE >> PAGE_SHIFT || set->n != 1 ||
	    !IS_ALIGNED(pfn, PMD_SIZE >> PAGE_SHIFT))
		return VM_FAULT_FALLBACK;
	/* Repeated until the zap has been there, and counted when it maps. */
	if (others_mapped(vmf, pfn))
		return VM_FAULT_NOPAGE;
	stats_add(&region->domain->events, faults, 1);
	trace_kcoll_fault(region->cookie, va, true);
	return kcoll_insert_huge(vmf, pfn);
}

/**
 * kcoll_fault_serve_huge() - maps 2 MiB at once
 * @vmf: the fault
 * @order: log2 of the pages
 *
 * May be called under the lock of the mapping alone, which must not be dropped here: what is
 * not at hand falls back. Faults of single pages hold map_sem for reading while they insert: held
 * for writing, it keeps an entry for all 2 MiB and a table of pages from meeting in one place.
 *
 * Return: VM_FAULT_NOPAGE, or VM_FAULT_FALLBACK for single pages.
 */
vm_fault_t kcoll_fault_serve_huge(struct vm_fault *vmf, unsigned int order)
{
	struct kcoll_region *region = mapped_region(vmf->vma);
	unsigned long start = vmf->address & PMD_MASK, va;
	vm_fault_t ret = VM_FAULT_FALLBACK;
	struct kcoll_segment *segment;
	struct kcoll_pinset *set;

	if (order != PMD_SHIFT - PAGE_SHIFT || !READ_ONCE(kcoll_param_huge_map) ||
	    start < vmf->vma->vm_start || start + PMD_SIZE > vmf->vma->vm_end ||
	    !fault_place(vmf, region, &segment, &va))
		return VM_FAULT_FALLBACK;
	/* The peer's address and the owner's must be alike within a huge page. */
	if ((va ^ vmf->address) & ~PMD_MASK & PAGE_MASK)
		return VM_FAULT_FALLBACK;

	down_write(&region->map_sem);
	set = pages_mapped(vmf) ? NULL : published(region, segment, va);
	if (set) {
		ret = map_huge(vmf, region, set, va);
		pinset_put(set);
	}
	up_write(&region->map_sem);
	return ret;
}
#endif
