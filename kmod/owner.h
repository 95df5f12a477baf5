/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_OWNER_H
#define _KCOLL_OWNER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/refcount.h>

#include "gate.h"
#include "lru.h"

struct kcoll_user;

/* What all descriptors and regions of one address space share. */
struct kcoll_owner {
	struct mm_struct *mm; /* grabbed: the struct lives, the memory may be gone */
	refcount_t ref;
	struct hlist_node hash;
	struct kcoll_user *user;  /* who opened the device first: is charged */
	struct kcoll_lru lru;	  /* its published pin sets */
	struct list_head pressed; /* among the owners of its memory cgroup: pressure.c */
	unsigned long scarce;	  /* jiffies, when pressure last dropped a set in use */
	struct pid *leader;	  /* the process that opened the device first: its limits hold */
	/* RLIMIT_MEMLOCK at the last registration, for when it is gone; ULONG_MAX: unlimited */
	unsigned long memlock_pages;
	atomic_long_t pinned_pages;
	atomic_long_t dropped_pages; /* of these, on their way out */
	atomic_t regions;	     /* that are alive */
	atomic_t ranges;	     /* of memory that they watch */
	pid_t pid;		     /* for people: who opened the device first */
	struct kcoll_gate gate;
};

struct kcoll_owner *kcoll_owner_get_current(void);
struct kcoll_owner *kcoll_owner_get(struct kcoll_owner *owner);
void kcoll_owner_put(struct kcoll_owner *owner);

#endif
