/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_VIEW_H
#define _KCOLL_VIEW_H

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
	struct page *pages[VIEW_PAGES];
};

void kcoll_view_init(struct kcoll_view *view, struct kcoll_region *region,
		     struct kcoll_counters *stats, bool write, u64 total);
int kcoll_view_span(struct kcoll_view *view, u64 offset, u64 want, void **addr, size_t *n);
void kcoll_view_let_go(struct kcoll_view *view);

#endif
