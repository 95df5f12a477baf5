/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_OWNER_H
#define _KCOLL_OWNER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/refcount.h>

#include "gate.h"

/* What all descriptors and regions of one address space share. */
struct owner {
	struct mm_struct *mm; /* grabbed: the struct lives, the memory may be gone */
	refcount_t ref;
	struct list_head link;
	unsigned long memlock_pages; /* RLIMIT_MEMLOCK at the last registration; ULONG_MAX: unlimited */
	atomic_long_t pinned_pages;
	atomic_t regions;
	pid_t pid; /* for people: who opened the device first */
	struct gate gate;
};

struct owner *owner_get_current(void);
struct owner *owner_get(struct owner *owner);
void owner_put(struct owner *owner);

#endif
