/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_GATE_H
#define _KCOLL_GATE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct gate {
	spinlock_t lock;
	unsigned int active;   /* tasks inside */
	unsigned int adaptive; /* limit in use while none is configured */
	struct list_head waiters;
	/* What the adaptive limit learns from, since its last step. */
	unsigned int samples;
	bool queued;
	u64 lock_ns, pin_ns;
};

void gate_init(struct gate *gate);
int gate_enter(struct gate *gate, unsigned int limit, unsigned int *conc);
void gate_leave(struct gate *gate, u64 lock_ns, u64 pin_ns);

#endif
