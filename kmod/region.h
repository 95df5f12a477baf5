/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_REGION_H
#define _KCOLL_REGION_H

#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "generation.h"
#include "owner.h"

struct context;
struct domain;
struct pinset;
struct seq_file;

/* Pages are pinned and dropped by windows: 2 MiB of the owner's addresses, aligned like a huge page. */
#define WINDOW_SHIFT 21
#define WINDOW_SIZE (1UL << WINDOW_SHIFT)

struct window {
	struct pinset __rcu *set; /* published under region->lock */
	struct mutex lock;	  /* single flight: who holds it may pin */
	u8 misses;		  /* small copies that went uncached; guarded by nothing, a hint */
};

/* One range of the owner's memory and its share of the region's space. */
struct segment {
	struct mmu_interval_notifier notifier;
	struct region *region;
	unsigned long start, end; /* owner's addresses */
	u64 offset;		  /* of start in the region */
	unsigned long first;	  /* index of its first window */
	unsigned long n;	  /* number of its windows */
};

/* Why a fault could not be served, for the task that repeats it. */
struct fault_note {
	const struct task_struct *task; /* compared only */
	unsigned long address;
	int err;
};
#define NOTE_BITS 3

struct region {
	/* Read by every access, written when the region is made and when it ends. */
	struct percpu_ref ref;
	struct hlist_node hash;
	u64 cookie;
	u64 len;
	u32 direction; /* KCOLL_READ | KCOLL_WRITE */
	u32 nsegments;
	u32 gate_limit;
	u32 map_index; /* place in the space of mmap offsets */
	bool mappable;
	bool dead; /* written under lock */
	kuid_t euid;
	struct user_namespace *userns;
	struct domain *domain;
	struct owner *owner;
	struct segment *segments;
	struct window *windows;
	struct generation gen;
	struct list_head link; /* in the descriptor's list, under its lock */

	/* Written by misses and invalidations. */
	spinlock_t lock ____cacheline_aligned_in_smp;
	struct list_head dropped;    /* pin sets that are unpublished but not zapped; under lock */
	u64 drops, zaps;	     /* how many were ever put there, and done with; under lock */
	unsigned int sets;	     /* pin sets whose pages may still be in use; under lock */
	unsigned int uncached;	     /* uncached copies in progress; under lock */
	wait_queue_head_t wait;	     /* for changes of the three above */
	struct work_struct zap_work; /* holds a reference while queued */
	struct work_struct free_work;
	atomic_t maps;		     /* mappings of peers */
	struct page *blank;	     /* what quiet mappings show instead of nothing; set once, with the first of them */
	bool blanks;		     /* some may show it; under map_sem */
	struct fault_note notes[1 << NOTE_BITS]; /* under lock; see map.c */
	struct rw_semaphore map_sem; /* read: a fault inserts pages; write: they are zapped */
};

struct region *region_create(struct context *ctx, const struct kcoll_range *ranges, u32 n, u32 flags, u32 gate_limit);
struct region *region_get(struct context *ctx, u64 cookie, u32 direction);
struct region *region_get_index(struct context *ctx, u32 index, u64 cookie);
void region_put(struct region *region);
void region_kill(struct region *region);
int region_wait_idle(struct region *region);
bool region_uncached_begin(struct region *region);
void region_uncached_end(struct region *region);
struct segment *region_segment(struct region *region, u64 offset);

int region_count(void);
void region_show_all(struct seq_file *m);
void region_wait_none(void);

static inline unsigned long segment_window(const struct segment *segment, unsigned long va)
{
	return segment->first + (va >> WINDOW_SHIFT) - (segment->start >> WINDOW_SHIFT);
}

#endif
