/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_DYING_H
#define _KCOLL_DYING_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/* A user's pin sets whose last access is over, until they are unpinned: retire.c. */
struct kcoll_dying {
	spinlock_t lock;	 /* guards what follows; taken from RCU callbacks */
	struct list_head come;	 /* as they came */
	bool hurry;		 /* those that are dying now have no delay any more */
	bool armed;		 /* whether the work will run, and by when: */
	unsigned long armed_for; /* jiffies */

	struct list_head waiting; /* not due yet, the next one first; of the work alone */
	atomic_t unfreed;	  /* how many are in the two lists, or being unpinned */
	struct delayed_work unpin;
};

void kcoll_dying_init(struct kcoll_dying *dying);
void kcoll_dying_stop(struct kcoll_dying *dying);
void kcoll_dying_unpin_now(struct kcoll_dying *dying);

#endif
