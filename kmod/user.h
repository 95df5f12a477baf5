/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_USER_H
#define _KCOLL_USER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <linux/wait.h>

#include "dying.h"
#include "lru.h"

/* What the processes of one user share: allowances. */
struct kcoll_user {
	struct hlist_node hash;
	refcount_t ref;
	kuid_t uid;
	struct list_head all;	     /* of all users, under users_lock */
	struct kcoll_lru lru;	     /* published pin sets of all its owners */
	atomic_long_t pinned_pages;  /* of all its owners, as charged */
	atomic_long_t dropped_pages; /* of these, on their way out */
	struct kcoll_dying dying;    /* pin sets on the last part of it */
	atomic_t unpinned;	     /* how many of them have gone; wraps around */
	atomic_long_t metadata;	     /* bytes of regions that are alive, or still held */
	atomic_long_t ending;	     /* those of regions that have ended */
	wait_queue_head_t freed;     /* for decreases of the two above */
	unsigned long refused;	     /* jiffies, when it was last refused pages of its share */
};

struct kcoll_user *kcoll_user_get_current(void);
struct kcoll_user *kcoll_user_get(struct kcoll_user *user);
void kcoll_user_put(struct kcoll_user *user);
unsigned int kcoll_user_active(void);
void kcoll_user_claim(struct kcoll_user *user);
void kcoll_user_unpin_now_all(void);
void kcoll_user_evict(struct kcoll_user *user, unsigned long pages);
void kcoll_user_balance(unsigned long share);
void kcoll_user_relieve(unsigned long pages, unsigned long share);

#endif
