/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_VIEW_H
#define _KCOLL_VIEW_H

#include <linux/slab.h>

#include "params.h"
#include "pinset.h"

#define VIEW_PAGES 16 /* pinned at once by an uncached copy */

/*
 * A view walks through a region's memory and hands out pieces of it as kernel addresses. It holds
 * either the pin set of one window or a few pages pinned for itself; so at most one window is kept
 * alive at a time, and no lock is held while the caller copies.
 */
struct kcoll_view {
	struct kcoll_region *region;
	struct kcoll_counters *stats;
	struct kcoll_pin_times times;
	bool write;
	bool may_sleep;	   /* else -EAGAIN where pages would have to be pinned */
	bool small;	   /* not worth pinning a window for */
	bool was_uncached; /* some of it went uncached */
	u64 uncached_bytes;

	unsigned long around; /* window that could not be pinned; ULONG_MAX: none */
	struct kcoll_segment *segment;
	struct kcoll_pinset *set;
	u32 extent;	/* last one used of the set */
	u64 begin, end; /* what of the region set or pages cover */

	unsigned int n; /* pages */
	unsigned long va;
	struct page **pages; /* VIEW_PAGES of them, once the first is needed */
};

int kcoll_view_span(struct kcoll_view *view, u64 offset, u64 want, void **addr, size_t *n);
bool kcoll_view_next(struct kcoll_view *view, u64 offset, u64 want, void **addr, size_t *n);
void kcoll_view_let_go(struct kcoll_view *view);

/**
 * view_init() - begins to walk through a region's memory
 * @view: the view, for view_exit()
 * @region: the region, to which the caller holds a reference
 * @stats: where misses are counted
 * @write: whether bytes are written to the region
 * @total: bytes of the whole command
 */
static inline void view_init(struct kcoll_view *view, struct kcoll_region *region,
			     struct kcoll_counters *stats, bool write, u64 total)
{
	*view = (struct kcoll_view){ .region = region,
				     .stats = stats,
				     .write = write,
				     .may_sleep = true,
				     .small = total <= READ_ONCE(kcoll_param_uncached_max),
				     .around = ULONG_MAX };
}

/**
 * view_exit() - the opposite
 * @view: the view
 */
static inline void view_exit(struct kcoll_view *view)
{
	kcoll_view_let_go(view);
	kfree(view->pages);
}

#endif
