// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate: how many tasks may pin pages of one owner at the same time.
 *
 * Beyond a few tasks the owner's mmap_lock and page table locks cost more than they let through, so
 * the rest waits here, in order of arrival, and can be killed. A task that exits, which no signal
 * reaches any more, does not wait.
 *
 * Invariants, under gate->lock:
 *   1. active counts the tasks between kcoll_gate_enter() == 0 and kcoll_gate_leave().
 *   2. A task that arrives while others wait, waits behind them, unless it exits.
 *   3. Who makes room (leaving, or giving up a place that was just granted) lets in as many waiters
 *      from the head as their own limits allow; so a waiter never sleeps while it could run.
 *   4. stuck counts at most the tasks inside that have been there for STUCK.
 *
 * A task inside may wait for a page that comes late or never: of a userfaultfd's handler, which may
 * itself wait here, or of a file system's. While none leaves for STUCK, one more is let in: beyond
 * the adaptive limit, not beyond one that was set, nor past a waiter for whom one was.
 *
 * The adaptive limit takes a step every 16 passes: down when tasks wait longer for the lock than
 * they work under it, up when the lock is nearly free and a task had to queue.
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "gate.h"
#include "params.h"
#include "trace.h"

#define STUCK (2 * HZ)

struct kcoll_waiter {
	struct list_head link;
	struct task_struct *task;
	unsigned int limit;
	bool granted;
};

/**
 * kcoll_gate_init() - an empty gate
 * @gate: the gate
 */
void kcoll_gate_init(struct kcoll_gate *gate)
{
	spin_lock_init(&gate->lock);
	INIT_LIST_HEAD(&gate->waiters);
	gate->adaptive = min(4U, num_online_cpus());
	gate->left_at = jiffies;
}

/* REQUIRES: gate->lock */
static unsigned int effective_limit(const struct kcoll_gate *gate, unsigned int own)
{
	unsigned int configured = READ_ONCE(kcoll_param_gate_limit);

	return own ?: configured ?: gate->adaptive + gate->stuck;
}

/* REQUIRES: gate->lock */
static void let_in(struct kcoll_gate *gate)
{
	struct kcoll_waiter *waiter, *next;

	list_for_each_entry_safe(waiter, next, &gate->waiters, link) {
		if (gate->active >= effective_limit(gate, waiter->limit))
			break;
		gate->active++;
		list_del_init(&waiter->link);
		/*
		 * The waiter takes gate->lock before it returns, so its frame and its task are
		 * there until we let go.
		 */
		smp_store_release(&waiter->granted, true);
		wake_up_process(waiter->task);
	}
}

/* The caller has waited for STUCK. If none left meanwhile, those inside have been there as long. */
static void look_for_stuck(struct kcoll_gate *gate)
{
	spin_lock(&gate->lock);
	if (gate->stuck < gate->active && time_after_eq(jiffies, gate->left_at + STUCK)) {
		gate->stuck++;
		gate->left_at = jiffies;
		let_in(gate);
	}
	spin_unlock(&gate->lock);
}

/**
 * kcoll_gate_enter() - takes a place
 * @gate: the gate
 * @limit: most tasks at once; 0: the module's choice
 * @conc: out: how many are inside then
 *
 * Return: 0; -EINTR: killed while waiting.
 */
int kcoll_gate_enter(struct kcoll_gate *gate, unsigned int limit, unsigned int *conc)
{
	struct kcoll_waiter waiter = { .task = current, .limit = limit };

	spin_lock(&gate->lock);
	if ((current->flags & PF_EXITING) ||
	    (list_empty(&gate->waiters) && gate->active < effective_limit(gate, limit))) {
		*conc = ++gate->active;
		spin_unlock(&gate->lock);
		return 0;
	}
	list_add_tail(&waiter.link, &gate->waiters);
	gate->queued = true;
	trace_kcoll_gate(gate->active, effective_limit(gate, limit));
	/* A limit that was raised meanwhile takes effect with the next arrival. */
	let_in(gate);
	spin_unlock(&gate->lock);

	for (;;) {
		set_current_state(TASK_KILLABLE);
		/* Pairs with the release in let_in(). */
		if (smp_load_acquire(&waiter.granted) || fatal_signal_pending(current))
			break;
		if (!schedule_timeout(STUCK))
			look_for_stuck(gate);
	}
	__set_current_state(TASK_RUNNING);

	/* The lock also makes sure that let_in() is done with this frame. */
	spin_lock(&gate->lock);
	*conc = gate->active;
	if (waiter.granted) {
		spin_unlock(&gate->lock);
		return 0;
	}
	list_del(&waiter.link);
	let_in(gate);
	spin_unlock(&gate->lock);
	return -EINTR;
}

/* REQUIRES: gate->lock */
static void adapt(struct kcoll_gate *gate, u64 lock_ns, u64 pin_ns)
{
	gate->lock_ns += lock_ns;
	gate->pin_ns += pin_ns;
	if (++gate->samples < 16)
		return;
	if (gate->lock_ns > gate->pin_ns && gate->adaptive > 1)
		gate->adaptive--;
	else if (gate->queued && gate->lock_ns < gate->pin_ns / 4 &&
		 gate->adaptive < num_online_cpus())
		gate->adaptive++;
	gate->samples = 0;
	gate->lock_ns = 0;
	gate->pin_ns = 0;
	gate->queued = false;
}

/**
 * kcoll_gate_leave() - gives the place back
 * @gate: the gate
 * @lock_ns: time spent waiting for the mmap_lock
 * @pin_ns: time spent under it
 */
void kcoll_gate_leave(struct kcoll_gate *gate, u64 lock_ns, u64 pin_ns)
{
	spin_lock(&gate->lock);
	gate->active--;
	gate->left_at = jiffies;
	if (gate->stuck && lock_ns + pin_ns >= jiffies_to_nsecs(STUCK - 1))
		gate->stuck--;
	gate->stuck = min(gate->stuck, gate->active);
	adapt(gate, lock_ns, pin_ns);
	let_in(gate);
	spin_unlock(&gate->lock);
}
