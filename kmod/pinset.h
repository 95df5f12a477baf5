/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_PINSET_H
#define _KCOLL_PINSET_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/percpu-refcount.h>

#include "account.h"
#include "region.h"

struct stats;

/* Pages that follow each other in physical memory: a huge page, or more. */
struct extent {
	struct page *page;
	u32 first; /* index of its first page in the set */
	u32 n;
};

/*
 * Pinned pages of one window: as many as were asked for, up to all that its segment has there. Immutable once
 * published, apart from `used`, which is written at most every quarter of a second.
 */
struct pinset {
	struct percpu_ref ref; /* who is using the pages */
	struct region *region;
	struct segment *segment;
	unsigned long window; /* its index in region->sets */
	unsigned long start;  /* owner's address of page 0 */
	u32 pages;
	u32 n; /* extents */
	u32 used;
	bool write;
	struct charge charge;
	struct list_head lru;  /* of all published sets; under sets_lock */
	struct list_head own;  /* of those of its owner; under sets_lock */
	struct list_head link; /* in region->dropped, then in dying */
	unsigned long due;     /* jiffies, when it may be unpinned */
	struct extent extents[];
};

/* What a miss cost, for tracing and statistics. */
struct pin_times {
	u64 gate_ns, lock_ns, pin_ns;
	u32 pages, extents, retries, conc;
};

/* How a miss is to be served. */
struct pin_need {
	unsigned long va; /* of the first byte that is needed */
	u64 want;	  /* bytes from there */
	bool fault;	  /* cannot do without: tries also what failed before */
	bool floor;	  /* see FLOOR_PAGES */
};

#define PIN_WHOLE WINDOW_SIZE /* pin_need.want: all of the window */

struct pinset *pinset_pin(struct segment *segment, const struct pin_need *need, struct stats *stats,
			  struct pin_times *times);
long pinset_pin_uncached(struct segment *segment, unsigned long va, unsigned int n, bool write, struct page **pages,
			 struct stats *stats, struct pin_times *times);
unsigned int pinset_drop_range(struct segment *segment, unsigned long start, unsigned long end, unsigned int most);
void pinset_drop_all(struct region *region);
unsigned long pinset_drop_cold(struct owner *owner, unsigned long pages);
unsigned long pinset_evict(struct owner *owner, unsigned long pages);
unsigned long pinset_cold_pages(void);
void pinset_enlist(struct pinset *set);
void pinset_unpublish(struct pinset *set);
void pinset_retire(struct pinset *set);
void pinset_released(struct percpu_ref *ref);
void pinset_unpin_now(void);
int pinset_freed(void);
int pinset_wait_freed(int seen);
void pinset_stop(void);
struct extent *pinset_extent(struct pinset *set, u32 page);

#define DROP_BATCH 64 /* sets that are dropped before others may have the region's lock */

static inline bool pinset_covers(const struct pinset *set, unsigned long va)
{
	return va - set->start < (unsigned long)set->pages << PAGE_SHIFT;
}

/* The published set of a window, if it has the page at va. */
static inline struct pinset *pinset_tryget(struct region *region, unsigned long window, unsigned long va)
{
	struct pinset *set;
	u32 now = jiffies / (HZ / 4);

	rcu_read_lock();
	set = xa_load(&region->sets, window);
	if (set && (!pinset_covers(set, va) || !percpu_ref_tryget_live_rcu(&set->ref)))
		set = NULL;
	rcu_read_unlock();
	if (set && READ_ONCE(set->used) != now)
		WRITE_ONCE(set->used, now);
	return set;
}

static inline void pinset_put(struct pinset *set)
{
	percpu_ref_put(&set->ref);
}

#endif
