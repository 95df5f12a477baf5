// SPDX-License-Identifier: GPL-2.0
/*
 * Accounting: who may keep how many pages pinned.
 *
 * Pins count in the owner's mm->pinned_vm against its RLIMIT_MEMLOCK, whoever causes them (the limit is noted
 * when the owner registers, because a peer cannot see it), and all together against max_pinned_mb. Where a limit
 * is reached, sets that nobody used for a while are dropped, coldest first, and the charge fails at once: the copy
 * at hand goes through uncached. Waiting for the room would cost more than it saves, and dropping sets in use would
 * only move the pinning elsewhere. Pages shared by two regions are charged twice.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/shrinker.h>

#include "account.h"
#include "compat.h"
#include "owner.h"
#include "params.h"
#include "pinset.h"

static atomic_long_t pinned_total;
static struct shrinker *shrinker;

long account_pinned_pages(void)
{
	return atomic_long_read(&pinned_total);
}

/* The current task registers memory of its own: remember how much it may pin. */
void account_note_limit(struct owner *owner)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK);

	if (limit == RLIM_INFINITY || capable(CAP_IPC_LOCK))
		WRITE_ONCE(owner->memlock_pages, ULONG_MAX);
	else
		WRITE_ONCE(owner->memlock_pages, limit >> PAGE_SHIFT);
}

static unsigned long total_limit(void)
{
	unsigned long mb = READ_ONCE(param_max_pinned_mb);

	return mb ? mb << (20 - PAGE_SHIFT) : totalram_pages() / 2;
}

static int charge_memlock(struct owner *owner, unsigned long pages, struct charge *charge)
{
	uint mode = READ_ONCE(param_memlock);

	charge->memlock = mode != MEMLOCK_OFF;
	if (!charge->memlock)
		return 0;
	if (atomic64_add_return(pages, &owner->mm->pinned_vm) <= READ_ONCE(owner->memlock_pages) ||
	    mode == MEMLOCK_ACCOUNT)
		return 0;
	atomic64_sub(pages, &owner->mm->pinned_vm);
	return -ENOMEM;
}

/* -ENOMEM: no allowance. Then room is being made, for a later attempt. */
int account_charge(struct owner *owner, unsigned long pages, struct charge *charge)
{
	if (atomic_long_add_return(pages, &pinned_total) > total_limit()) {
		atomic_long_sub(pages, &pinned_total);
		pinset_drop_cold(NULL, pages);
		return -ENOMEM;
	}
	if (charge_memlock(owner, pages, charge)) {
		atomic_long_sub(pages, &pinned_total);
		pinset_drop_cold(owner, pages);
		return -ENOMEM;
	}
	charge->pages = pages;
	atomic_long_add(pages, &owner->pinned_pages);
	return 0;
}

void account_uncharge(struct owner *owner, const struct charge *charge)
{
	if (charge->memlock)
		atomic64_sub(charge->pages, &owner->mm->pinned_vm);
	atomic_long_sub(charge->pages, &owner->pinned_pages);
	atomic_long_sub(charge->pages, &pinned_total);
}

static unsigned long shrink_count(struct shrinker *unused, struct shrink_control *sc)
{
	return pinset_cold_pages();
}

static unsigned long shrink_scan(struct shrinker *unused, struct shrink_control *sc)
{
	unsigned long dropped = pinset_drop_cold(NULL, sc->nr_to_scan);

	return dropped ?: SHRINK_STOP;
}

int account_start(void)
{
	shrinker = kcoll_shrinker_start("kcoll", shrink_count, shrink_scan);
	return IS_ERR(shrinker) ? PTR_ERR(shrinker) : 0;
}

void account_stop(void)
{
	kcoll_shrinker_stop(shrinker);
}
