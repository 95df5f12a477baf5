/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_DEVICE_H
#define _KCOLL_DEVICE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "generation.h"
#include "owner.h"
#include "stats.h"

struct kcoll_domain;

#define MAX_RANGES 1024
#define MAX_BATCH 1024

/* One opened descriptor. */
struct kcoll_context {
	struct kcoll_owner *owner; /* who opened it: the only one who may use it */
	/*
	 * What it has joined, or its own, which its first region founds; NULL: neither. Set once,
	 * under lock.
	 */
	struct kcoll_domain *domain;
	struct kcoll_counters stats;
	struct mutex lock; /* guards what follows, and JOIN */
	struct list_head regions;
	struct kcoll_generation_pool generations;
	spinlock_t attach_lock;	    /* guards what follows: mmap must not take the mutex */
	struct rb_root attachments; /* of struct kcoll_attachment, by their indices */
};

/**
 * context_is_ours() - whether a descriptor was opened by the process that uses it
 * @ctx: the descriptor
 *
 * Return: false: it was passed on or inherited, and opens nothing.
 */
static inline bool context_is_ours(const struct kcoll_context *ctx)
{
	return current->mm && ctx->owner->mm == current->mm;
}

int kcoll_register_region(struct kcoll_context *ctx, const struct kcoll_register *args,
			  u64 *cookie);

extern struct workqueue_struct *kcoll_wq;

int kcoll_device_start(void);
void kcoll_device_stop(void);

#endif
