/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_GATE_H
#define _KCOLL_GATE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct kcoll_gate {
	spinlock_t lock;       /* guards all of it */
	unsigned int active;   /* tasks inside */
	unsigned int adaptive; /* limit in use while none is configured */
	unsigned int stuck;    /* tasks inside that no longer count against the limit */
	unsigned long left_at; /* jiffies, when a task last left, or one more got stuck */
	struct list_head waiters;
	/* What the adaptive limit learns from, since its last step. */
	unsigned int samples;
	bool queued;
	u64 lock_ns, pin_ns;
};

void kcoll_gate_init(struct kcoll_gate *gate);
int kcoll_gate_enter(struct kcoll_gate *gate, unsigned int limit, unsigned int *conc);
void kcoll_gate_leave(struct kcoll_gate *gate, u64 lock_ns, u64 pin_ns);

#endif
