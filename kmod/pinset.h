/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_PINSET_H
#define _KCOLL_PINSET_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/percpu-refcount.h>
#include <linux/wait.h>

#include "account.h"
#include "lru.h"
#include "region.h"

struct kcoll_counters;

/* Pages that follow each other in physical memory: a huge page, or more. */
struct kcoll_extent {
	struct page *page;
	u32 first; /* index of its first page in the set */
	u32 n;
};

/*
 * Pinned pages of one window: as many as were asked for, up to all that its segment has there.
 * Immutable once published, apart from `used`, which is written at most every quarter of a second,
 * and what its way out needs: for_room, places, link, due.
 */
struct kcoll_pinset {
	struct percpu_ref ref; /* who is using the pages */
	struct kcoll_region *region;
	struct kcoll_segment *segment;
	unsigned long window;
	unsigned long place; /* of the two of its window: its index in region->sets */
	unsigned long start; /* owner's address of page 0 */
	u32 pages;
	u32 n; /* extents */
	u32 used;
	bool write;
	bool for_room; /* dropped because others want the room: without delay */
	struct kcoll_charge charge;
	struct kcoll_lru_place places[LRU_KINDS]; /* while it is published */
	struct list_head link;			  /* in region->dropped, then come, then waiting */
	unsigned long due;			  /* jiffies, when it may be unpinned */
	struct kcoll_extent extents[];
};

/* What a miss cost, for tracing and statistics. */
struct kcoll_pin_times {
	u64 gate_ns, lock_ns, pin_ns;
	u32 pages, extents, retries, conc;
};

/* How a miss is to be served. */
struct kcoll_pin_need {
	unsigned long va; /* of the first byte that is needed */
	u64 want;	  /* bytes from there */
	bool fault;	  /* cannot do without: tries also what failed before */
	bool floor;	  /* see FLOOR_PAGES */
	bool eager;	  /* the caller fails without all of it: no page is searched */
};

/* How many sets were freed: of a user, and of all. Both wrap around. */
struct kcoll_freed {
	int own, all;
};

#define PIN_WHOLE WINDOW_SIZE /* pin_need.want: all of the window */

extern wait_queue_head_t kcoll_pinset_room; /* woken when a set was freed */

struct kcoll_pinset *kcoll_pinset_pin(struct kcoll_segment *segment,
				      const struct kcoll_pin_need *need,
				      struct kcoll_counters *stats, struct kcoll_pin_times *times);
long kcoll_pinset_pin_uncached(struct kcoll_segment *segment, unsigned long va, unsigned int n,
			       bool write, struct page **pages, struct kcoll_counters *stats,
			       struct kcoll_pin_times *times);
unsigned int kcoll_pinset_drop_range(struct kcoll_segment *segment, unsigned long start,
				     unsigned long end, unsigned int most);
void kcoll_pinset_drop_all(struct kcoll_region *region);
unsigned long kcoll_pinset_drop(struct kcoll_lru *lru, unsigned long pages, unsigned long most,
				bool warm);
unsigned long kcoll_pinset_drop_held(struct kcoll_pinset *set);
void kcoll_pinset_unpublish(struct kcoll_pinset *set);
void kcoll_pinset_retire(struct kcoll_pinset *set);
void kcoll_pinset_released(struct percpu_ref *ref);
struct kcoll_freed kcoll_pinset_freed(const struct kcoll_user *user);
int kcoll_pinset_wait_freed(const struct kcoll_user *user, struct kcoll_freed seen);
unsigned int kcoll_extent_count(struct page **pages, unsigned int n);
void kcoll_extent_fill(struct kcoll_pinset *set, struct page **pages);
struct kcoll_extent *kcoll_pinset_extent(struct kcoll_pinset *set, u32 page);

#define DROP_BATCH 64 /* sets that are dropped before others may have the region's lock */

/**
 * pinset_end() - the owner's address behind a set's last page
 * @set: the set
 *
 * Return: the address.
 */
static inline unsigned long pinset_end(const struct kcoll_pinset *set)
{
	return set->start + ((unsigned long)set->pages << PAGE_SHIFT);
}

/**
 * pinset_covers() - whether a set has a page
 * @set: the set
 * @va: the owner's address of the page
 *
 * Return: whether it has.
 */
static inline bool pinset_covers(const struct kcoll_pinset *set, unsigned long va)
{
	return va - set->start < (unsigned long)set->pages << PAGE_SHIFT;
}

/* REQUIRES: rcu_read_lock(). The set that is published there, if it has the page at va. */
static inline struct kcoll_pinset *pinset_at(struct kcoll_region *region, unsigned long place,
					     unsigned long va)
{
	struct kcoll_pinset *set = xa_load(&region->sets, place);

	return set && pinset_covers(set, va) ? set : NULL;
}

/**
 * pinset_tryget() - the published set of a window that has a page
 * @region: the region
 * @window: index of the window
 * @va: the owner's address of the page
 *
 * Return: the set, for pinset_put(); NULL: there is none.
 */
static inline struct kcoll_pinset *pinset_tryget(struct kcoll_region *region, unsigned long window,
						 unsigned long va)
{
	struct kcoll_pinset *set;
	u32 now = jiffies / (HZ / 4);

	rcu_read_lock();
	set = rcu_dereference(region_slot(region, window)->set);
	if (!set || set->window != window || !pinset_covers(set, va))
		set = pinset_at(region, window_place(window, false), va) ?:
			      pinset_at(region, window_place(window, true), va);
	if (set && !percpu_ref_tryget_live_rcu(&set->ref))
		set = NULL;
	rcu_read_unlock();
	if (set && READ_ONCE(set->used) != now)
		WRITE_ONCE(set->used, now);
	return set;
}

/**
 * pinset_put() - gives a reference back
 * @set: from pinset_tryget() or kcoll_pinset_pin()
 */
static inline void pinset_put(struct kcoll_pinset *set)
{
	percpu_ref_put(&set->ref);
}

#endif
