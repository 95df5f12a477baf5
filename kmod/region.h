/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_REGION_H
#define _KCOLL_REGION_H

#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "generation.h"
#include "owner.h"

struct kcoll_context;
struct kcoll_domain;
struct kcoll_pinset;
struct kcoll_user;

/*
 * Pages are pinned and dropped by windows: 2 MiB of the owner's addresses, aligned like a huge
 * page.
 */
#define WINDOW_SHIFT 21
#define WINDOW_SIZE BIT(WINDOW_SHIFT)

/*
 * What is known of windows that were missed, and the lock under which one task pins: windows share
 * slots.
 */
struct kcoll_slot {
	struct kcoll_pinset __rcu *set; /* one of those published: found without region->sets */
	struct mutex lock;		/* single flight: who holds it may pin */
	unsigned long window;		/* whose the rest is, but for the last two; under lock */
	unsigned int grown;		/* how often it was pinned, up to 2 */
	unsigned long hole;    /* the owner's address of a page that could not be pinned; 0: none */
	unsigned long hole_at; /* when that was, in jiffies */
	u64 hole_gen;	       /* and in which generation */
	unsigned long missed;  /* window with small copies that went uncached: a hint, no guard */
	unsigned int misses;   /* and how many */
};

#define MAX_SLOTS 64

/* Merged ranges of a region, watched as one. */
struct kcoll_watch {
	struct mmu_interval_notifier notifier;
	struct kcoll_region *region;
	struct kcoll_segment **segments; /* by their start */
	u32 n;
};

/* One range of the owner's memory and its share of the region's space. */
struct kcoll_segment {
	struct kcoll_region *region;
	struct kcoll_watch *watch;
	unsigned long start, end; /* owner's addresses */
	u64 offset;		  /* of start in the region */
	unsigned long first;	  /* index of its first window */
	unsigned long n;	  /* number of its windows */
};

/* Why a fault could not be served, for the task that repeats it. */
struct kcoll_fault_note {
	const struct task_struct *task; /* compared only */
	unsigned long address;
	int err;
	unsigned long until; /* jiffies; 0: no page was waited for */
};

#define NOTE_BITS 3

struct kcoll_region {
	/* Read by every access, written when the region is made and when it ends. */
	struct percpu_ref ref;
	struct rhash_head hash;
	u64 cookie;
	u64 len;
	u32 direction; /* KCOLL_READ | KCOLL_WRITE */
	u32 nsegments;
	u32 gate_limit;
	u32 map_index; /* place in its domain's space of mmap offsets */
	bool mappable;
	bool dead; /* written under lock */
	kuid_t euid;
	struct user_namespace *userns;
	struct kcoll_domain *domain;
	struct kcoll_owner *owner;
	struct kcoll_segment *segments;
	struct kcoll_segment **sorted; /* the same by start; watches have parts of it */
	struct kcoll_watch *watches;
	u32 nwatches;
	u32 nslots; /* a power of two */
	struct kcoll_slot *slots;
	struct xarray sets;	   /* window_place() -> published pin set; written under lock */
	size_t metadata;	   /* bytes, as charged */
	struct kcoll_user *payer;  /* who is charged for it, with a reference; NULL: none is */
	struct list_head mappings; /* of peers, the last one first; all three under lock */
	bool ending;		   /* charged though it has ended, and soon free */
	struct kcoll_generation gen;
	struct list_head link; /* in the descriptor's list, under its lock */

	/* Written by misses and invalidations. */
	spinlock_t lock ____cacheline_aligned_in_smp;
	struct list_head dropped;    /* pin sets that are unpublished but not zapped; under lock */
	u64 drops, zaps;	     /* how many were ever put there, and done with; under lock */
	unsigned int live;	     /* pin sets whose pages may still be in use; under lock */
	unsigned int uncached;	     /* uncached copies in progress; under lock */
	wait_queue_head_t wait;	     /* for changes of the three above */
	struct work_struct zap_work; /* holds a reference while queued */
	struct work_struct free_work;
	atomic_t maps;	    /* how many mappings; written under lock */
	struct page *blank; /* what quiet mappings show instead of nothing; set with the first */
	bool blanks;	    /* some may show it; under map_sem */
	struct kcoll_fault_note notes[1 << NOTE_BITS]; /* under lock; see note.h */
	/* read: a fault inserts pages; write: they are zapped, or 2 MiB are inserted as one */
	struct rw_semaphore map_sem;
};

struct kcoll_region *kcoll_region_create(struct kcoll_context *ctx, struct kcoll_domain *domain,
					 const struct kcoll_range *ranges, u32 n, u32 flags,
					 u32 gate_limit);
struct kcoll_region *kcoll_region_get(struct kcoll_context *ctx, u64 cookie, u32 direction);
struct kcoll_region *kcoll_region_get_index(struct kcoll_context *ctx, u32 index, u64 cookie);
void kcoll_region_put(struct kcoll_region *region);
void kcoll_region_kill(struct kcoll_region *region);
int kcoll_region_wait_idle(struct kcoll_region *region);
int kcoll_region_uncached_begin(struct kcoll_segment *segment, unsigned long seq, bool last);
void kcoll_region_uncached_end(struct kcoll_region *region);
struct kcoll_segment *kcoll_region_segment(struct kcoll_region *region, u64 offset);

int kcoll_region_count(void);
void kcoll_region_wait_none(void);

/**
 * region_slot() - the slot that a window shares with others
 * @region: the region
 * @window: index of the window
 *
 * Return: the slot.
 */
static inline struct kcoll_slot *region_slot(struct kcoll_region *region, unsigned long window)
{
	return &region->slots[window & (region->nslots - 1)];
}

/**
 * window_place() - a window's place in region->sets
 * @window: index of the window
 * @behind: the other one, for the pages behind one that could not be pinned: they and those before
 * it need not give way to each other
 *
 * Return: the index there.
 */
static inline unsigned long window_place(unsigned long window, bool behind)
{
	return window * 2 + behind;
}

/**
 * segment_window() - the index of the window of an address
 * @segment: the range that the address lies in
 * @va: the owner's address
 *
 * Return: the index in the region.
 */
static inline unsigned long segment_window(const struct kcoll_segment *segment, unsigned long va)
{
	return segment->first + (va >> WINDOW_SHIFT) - (segment->start >> WINDOW_SHIFT);
}

#endif
