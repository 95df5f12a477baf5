// SPDX-License-Identifier: GPL-2.0-only
/* Views: a region's memory, piece by piece, from the cache of pinned pages or around it. */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "params.h"
#include "stats.h"
#include "view.h"

#define SMALL_MISSES 8 /* after so many small uncached copies a window is worth pinning */

/**
 * kcoll_view_let_go() - holds nothing any more; kcoll_view_span() starts anew
 * @view: the view
 */
void kcoll_view_let_go(struct kcoll_view *view)
{
	if (view->set) {
		pinset_put(view->set);
		view->set = NULL;
	}
	if (view->n) {
		unpin_user_pages_dirty_lock(view->pages, view->n, view->write);
		view->n = 0;
		kcoll_region_uncached_end(view->region);
	}
	view->begin = 0;
	view->end = 0;
}

static int take_uncached(struct kcoll_view *view, struct kcoll_segment *segment, u64 offset,
			 u64 want)
{
	unsigned long va = segment->start + (offset - segment->offset);
	unsigned long first = PAGE_ALIGN_DOWN(va), last;
	unsigned int n;
	long pinned;

	if (!view->pages)
		view->pages = kmalloc_array(VIEW_PAGES, sizeof(*view->pages), GFP_KERNEL);
	if (!view->pages)
		return -ENOMEM;
	want = min(want, segment->offset + (segment->end - segment->start) - offset);
	want = min(want, ((u64)VIEW_PAGES << PAGE_SHIFT) - (va - first));
	last = PAGE_ALIGN(va + want);
	n = (last - first) >> PAGE_SHIFT;
	pinned = kcoll_pinset_pin_uncached(segment, first, n, view->write, view->pages, view->stats,
					   &view->times);
	if (pinned < 0)
		return pinned;
	n = pinned;
	want = min(want, ((u64)n << PAGE_SHIFT) - (va - first));
	view->n = n;
	view->va = first;
	view->segment = segment;
	view->begin = offset;
	view->end = offset + want;
	view->was_uncached = true;
	view->uncached_bytes += want;
	return 0;
}

static void take_set(struct kcoll_view *view, struct kcoll_segment *segment,
		     struct kcoll_pinset *set)
{
	u64 from = max(set->start, segment->start);
	u64 to = min(pinset_end(set), segment->end);

	view->set = set;
	view->segment = segment;
	view->extent = U32_MAX;
	view->begin = segment->offset + (from - segment->start);
	view->end = segment->offset + (to - segment->start);
}

/* Whether a window is not worth pinning for a small copy, yet. */
static bool too_small(const struct kcoll_view *view, struct kcoll_slot *slot, unsigned long window)
{
	if (!view->small)
		return false;
	if (READ_ONCE(slot->missed) != window) {
		WRITE_ONCE(slot->missed, window);
		WRITE_ONCE(slot->misses, 0);
	}
	if (READ_ONCE(slot->misses) >= SMALL_MISSES)
		return false;
	WRITE_ONCE(slot->misses, READ_ONCE(slot->misses) + 1);
	return true;
}

/* Makes the view cover offset. */
static int take(struct kcoll_view *view, u64 offset, u64 want)
{
	struct kcoll_segment *segment = kcoll_region_segment(view->region, offset);
	unsigned long va = segment->start + (offset - segment->offset);
	unsigned long window = segment_window(segment, va);
	struct kcoll_pinset *set = pinset_tryget(view->region, window, va);
	struct kcoll_pin_need need = { .va = va, .want = want };

	if (set) {
		take_set(view, segment, set);
		return 0;
	}
	if (!view->may_sleep)
		return -EAGAIN;
	if (READ_ONCE(kcoll_param_pin_mode) == PIN_NEVER || view->around == window ||
	    too_small(view, region_slot(view->region, window), window))
		return take_uncached(view, segment, offset, want);
	set = kcoll_pinset_pin(segment, &need, view->stats, &view->times);
	if (!IS_ERR(set)) {
		take_set(view, segment, set);
		return 0;
	}
	switch (PTR_ERR(set)) {
	case -EFAULT: /* there is nothing at va, or was not: the copy tells */
	case -EOPNOTSUPP:
	case -ENOMEM:
	case -EDQUOT:
	case -EAGAIN:
		/*
		 * Nor will it be pinned for the next piece: ask again with the next window, or the
		 * next copy.
		 */
		view->around = window;
		return take_uncached(view, segment, offset, want);
	default:
		return PTR_ERR(set);
	}
}

static void span_of_set(struct kcoll_view *view, unsigned long va, void **addr, size_t *n)
{
	struct kcoll_pinset *set = view->set;
	u32 page = (va - set->start) >> PAGE_SHIFT;
	struct kcoll_extent *extent;
	unsigned long skip;

	/* Mostly the same as before, or the next. */
	if (view->extent < set->n &&
	    page == set->extents[view->extent].first + set->extents[view->extent].n)
		view->extent++;
	if (view->extent >= set->n ||
	    page - set->extents[view->extent].first >= set->extents[view->extent].n)
		view->extent = kcoll_pinset_extent(set, page) - set->extents;
	extent = &set->extents[view->extent];
	skip = ((unsigned long)(page - extent->first) << PAGE_SHIFT) + offset_in_page(va);
	*addr = page_address(extent->page) + skip;
	*n = ((size_t)extent->n << PAGE_SHIFT) - skip;
}

/* REQUIRES: offset in [view->begin, view->end) */
static void piece(struct kcoll_view *view, u64 offset, u64 want, void **addr, size_t *n)
{
	unsigned long va = view->segment->start + (offset - view->segment->offset);

	if (view->set) {
		span_of_set(view, va, addr, n);
	} else {
		*addr = page_address(view->pages[(va - view->va) >> PAGE_SHIFT]) +
			offset_in_page(va);
		*n = PAGE_SIZE - offset_in_page(va);
	}
	*n = min3((u64)*n, want, view->end - offset);
}

/**
 * kcoll_view_span() - the next piece
 * @view: the view
 * @offset: offset in the region
 * @want: bytes, more than 0, that are there
 * @addr: out: the piece
 * @n: out: how long it is, at most @want
 *
 * It stays valid until the next call or kcoll_view_let_go().
 *
 * Return: 0, -EINTR, -ENOENT, -ESRCH, -EFAULT, -EOPNOTSUPP, -ENOMEM; -EAGAIN: only if not
 * may_sleep.
 */
int kcoll_view_span(struct kcoll_view *view, u64 offset, u64 want, void **addr, size_t *n)
{
	int err;

	if (offset < view->begin || offset >= view->end) {
		kcoll_view_let_go(view);
		err = take(view, offset, want);
		if (err)
			return err;
	}
	piece(view, offset, want, addr, n);
	return 0;
}

/**
 * kcoll_view_next() - the piece after the last one, of what the view holds
 * @view: the view, where kcoll_view_span() has succeeded
 * @offset: where the last piece ended
 * @want: bytes that are left, may be 0
 * @addr: out: the piece
 * @n: out: how long it is
 *
 * Return: false: there is none; it takes kcoll_view_span(), which may sleep.
 */
bool kcoll_view_next(struct kcoll_view *view, u64 offset, u64 want, void **addr, size_t *n)
{
	if (!want || offset >= view->end)
		return false;
	piece(view, offset, want, addr, n);
	return true;
}
