// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounting: who may keep how many pages pinned, and how much metadata.
 *
 * Pins count in the owner's mm->pinned_vm against its RLIMIT_MEMLOCK as it is at that moment,
 * whichever task pins, and all together against max_pinned_mb, of which every user who wants some
 * has an equal share: as long as no user is refused, any of them may use what is free; when one is
 * refused within its share, the others lose what they hold beyond theirs; when one is refused
 * beyond it, cold sets give way, its own first, and others' as far as they have more than a share.
 *
 * Where a limit is reached the charge fails at once, with EDQUOT. A copy then goes through
 * uncached: waiting for the room would cost more than it saves. Sets that were not used for a while
 * are dropped for later attempts. A fault of a mapping cannot do without pages: it drops sets of
 * the same owner, in use or not, and tries again; FLOOR_PAGES are granted to it in any case. So a
 * small limit makes mappings slow and never makes them fail.
 *
 * Pages shared by two regions are charged twice. CAP_IPC_LOCK of the owner lifts its limit, as long
 * as it has it.
 */
#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "account.h"
#include "compat.h"
#include "device.h"
#include "owner.h"
#include "params.h"
#include "pinset.h"
#include "user.h"

static atomic_long_t pinned_total;
static atomic_long_t wanted; /* pages that users were refused beyond their shares */
static unsigned long contended =
	INITIAL_JIFFIES - 10 * HZ; /* jiffies, when a user was last refused pages of its share */

static void balance(struct work_struct *work);
static DECLARE_WORK(balance_work, balance);

/**
 * kcoll_account_pinned_pages() - pages that all users have pinned
 *
 * Return: their number.
 */
long kcoll_account_pinned_pages(void)
{
	return atomic_long_read(&pinned_total);
}

/* What a task may pin. REQUIRES: rcu_read_lock(), or that it is the current one. */
static unsigned long limit_of(struct task_struct *task)
{
	unsigned long limit = task_rlimit(task, RLIMIT_MEMLOCK);

	if (limit == RLIM_INFINITY || kcoll_has_capability(task, CAP_IPC_LOCK))
		return ULONG_MAX;
	return limit >> PAGE_SHIFT;
}

/**
 * kcoll_account_note_limit() - remembers how much the current task may pin
 * @owner: of its memory, some of which it registers
 */
void kcoll_account_note_limit(struct kcoll_owner *owner)
{
	WRITE_ONCE(owner->memlock_pages, limit_of(current));
}

/*
 * What the owner may pin now, whoever asks. A process that has ended, or has other memory since,
 * has left what it noted last: another may have this memory too.
 */
static unsigned long memlock_limit(struct kcoll_owner *owner)
{
	unsigned long limit = READ_ONCE(owner->memlock_pages);
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(owner->leader, PIDTYPE_TGID);
	if (task && READ_ONCE(task->mm) == owner->mm)
		limit = limit_of(task);
	rcu_read_unlock();
	return limit;
}

static unsigned long total_limit(void)
{
	unsigned long mb = READ_ONCE(kcoll_param_max_pinned_mb);

	return mb ? mb << (20 - PAGE_SHIFT) : totalram_pages() / 2;
}

static unsigned long equal_share(void)
{
	return total_limit() / max(1U, kcoll_user_active());
}

/**
 * kcoll_account_contended() - whether users have to keep to their shares
 *
 * Return: true: one was refused pages of its share within a second.
 */
bool kcoll_account_contended(void)
{
	return !time_after(jiffies, READ_ONCE(contended) + HZ);
}

/* What one user may have now. */
static unsigned long share(void)
{
	return kcoll_account_contended() ? equal_share() : total_limit();
}

static void balance(struct work_struct *work)
{
	unsigned long pages = atomic_long_xchg(&wanted, 0);

	if (kcoll_account_contended())
		kcoll_user_balance(equal_share());
	else if (pages)
		kcoll_user_relieve(pages, equal_share());
	kcoll_user_unpin_now_all();
}

/* Adds pages as far as a limit allows. Of several tasks, those fail for whom no room is left. */
static bool add_within(atomic_long_t *count, unsigned long pages, unsigned long limit)
{
	long now = atomic_long_read(count);

	do {
		if (now + pages > limit)
			return false;
	} while (!atomic_long_try_cmpxchg(count, &now, now + pages));
	return true;
}

static bool add_memlock(struct kcoll_owner *owner, unsigned long pages, bool force,
			struct kcoll_charge *charge)
{
	uint mode = READ_ONCE(kcoll_param_memlock);

	charge->memlock = mode != MEMLOCK_OFF;
	if (!charge->memlock)
		return true;
	if (!force && mode != MEMLOCK_ACCOUNT)
		return add_within(&owner->mm->pinned_vm, pages, memlock_limit(owner));
	atomic64_add(pages, &owner->mm->pinned_vm);
	return true;
}

/*
 * The user's count before that of all: of the latter nothing is taken that may have to be given
 * back, for want of which another user would be refused.
 */
static bool add_total(struct kcoll_user *user, unsigned long pages, bool force)
{
	if (force) {
		atomic_long_add(pages, &user->pinned_pages);
		atomic_long_add(pages, &pinned_total);
		return true;
	}
	if (!add_within(&user->pinned_pages, pages, share()))
		return false;
	if (add_within(&pinned_total, pages, total_limit()))
		return true;
	atomic_long_sub(pages, &user->pinned_pages);
	return false;
}

static void sub_memlock(struct kcoll_owner *owner, const struct kcoll_charge *charge,
			unsigned long pages)
{
	if (charge->memlock)
		atomic64_sub(pages, &owner->mm->pinned_vm);
}

/*
 * A user is refused pages of its share: for the next second there are shares, and others keep to
 * them. Beyond its share what is cold gives way to a later attempt.
 */
static void refused(struct kcoll_owner *owner, unsigned long pages)
{
	struct kcoll_user *user = owner->user;

	if (atomic_long_read(&user->pinned_pages) + pages <= equal_share()) {
		kcoll_user_claim(user);
		WRITE_ONCE(contended, jiffies);
		queue_work(kcoll_wq, &balance_work);
		return;
	}
	if (kcoll_pinset_drop(&user->lru, pages, ULONG_MAX, false) < pages &&
	    !kcoll_account_contended()) {
		atomic_long_set(&wanted, pages);
		queue_work(kcoll_wq, &balance_work);
	}
}

/**
 * kcoll_account_charge() - charges pages before they are pinned
 * @owner: the owner
 * @pages: how many pages
 * @floor: for a fault, which is granted FLOOR_PAGES in any case
 * @charge: out: what to give back
 *
 * Return: 0; -EDQUOT: no allowance.
 */
int kcoll_account_charge(struct kcoll_owner *owner, unsigned long pages, bool floor,
			 struct kcoll_charge *charge)
{
	bool force = floor && add_within(&owner->pinned_pages, pages, FLOOR_PAGES);

	charge->pages = pages;
	if (!add_memlock(owner, pages, force, charge)) {
		kcoll_pinset_drop(&owner->lru, pages, ULONG_MAX, false);
		kcoll_dying_unpin_now(&owner->user->dying);
		return -EDQUOT;
	}
	if (!add_total(owner->user, pages, force)) {
		sub_memlock(owner, charge, pages);
		refused(owner, pages);
		kcoll_dying_unpin_now(&owner->user->dying);
		return -EDQUOT;
	}
	if (!force)
		atomic_long_add(pages, &owner->pinned_pages);
	return 0;
}

/**
 * kcoll_account_hopeless() - whether so many pages exceed the owner's limit, whatever gives way
 * @owner: the owner
 * @pages: how many pages
 *
 * Return: true: they can never be charged, as the limit is now.
 */
bool kcoll_account_hopeless(struct kcoll_owner *owner, unsigned long pages)
{
	return READ_ONCE(kcoll_param_memlock) == MEMLOCK_ENFORCE && pages > memlock_limit(owner);
}

/**
 * kcoll_account_uncharge() - gives pages of a charge back
 * @owner: the owner
 * @charge: the charge
 * @pages: how many of them
 */
void kcoll_account_uncharge(struct kcoll_owner *owner, struct kcoll_charge *charge,
			    unsigned long pages)
{
	sub_memlock(owner, charge, pages);
	atomic_long_sub(pages, &owner->pinned_pages);
	atomic_long_sub(pages, &owner->user->pinned_pages);
	atomic_long_sub(pages, &pinned_total);
	charge->pages -= pages;
}

/**
 * kcoll_account_make_room() - drops pin sets for a fault that was refused
 * @owner: the owner
 * @pages: how many pages
 *
 * Sets of the owner give way, or of its user, whose share may be with another process.
 */
void kcoll_account_make_room(struct kcoll_owner *owner, unsigned long pages)
{
	unsigned long some =
		max_t(unsigned long, pages, atomic_long_read(&owner->pinned_pages) / 2);
	unsigned long coming = atomic_long_read(&owner->dropped_pages);

	if (coming < pages)
		coming += kcoll_pinset_drop(&owner->lru, some, ULONG_MAX, true);
	if (!coming && atomic_long_read(&owner->user->pinned_pages) + pages > share())
		kcoll_user_evict(owner->user, pages);
	kcoll_dying_unpin_now(&owner->user->dying);
}

/* --- metadata --- */

/* How long a registration waits for regions that have ended: some grace periods. */
#define METADATA_WAIT HZ

static unsigned long metadata_limit(void)
{
	unsigned long mb = READ_ONCE(kcoll_param_max_metadata_mb);

	return mb ? mb << 20 : (totalram_pages() << PAGE_SHIFT) / 64;
}

/* Whether it is charged, or nothing is left to wait for. */
static bool metadata_settled(struct kcoll_user *user, size_t bytes, bool *charged)
{
	/* Acquire: pairs with the end's release, so that with nothing ending all is given back. */
	bool none_ending = !atomic_long_read_acquire(&user->ending);

	*charged = add_within(&user->metadata, bytes, metadata_limit());
	return *charged || none_ending;
}

/**
 * kcoll_account_metadata() - charges kernel memory of a region
 * @user: the user
 * @bytes: how many bytes
 *
 * A region that has ended is charged until the last look-up is over and its memory is free, a
 * grace period later: who registers and unregisters in a loop waits for that here.
 *
 * Context: may sleep; a fatal signal ends the wait.
 * Return: 0; -EDQUOT: the user has as much as it may have; -EINTR: killed.
 */
int kcoll_account_metadata(struct kcoll_user *user, size_t bytes)
{
	bool charged;

	wait_event_killable_timeout(user->freed, metadata_settled(user, bytes, &charged),
				    METADATA_WAIT);
	if (charged)
		return 0;
	return fatal_signal_pending(current) ? -EINTR : -EDQUOT;
}

/**
 * kcoll_account_metadata_force() - charges what is in use already, whatever the limit
 * @user: the user
 * @bytes: how many bytes
 */
void kcoll_account_metadata_force(struct kcoll_user *user, size_t bytes)
{
	atomic_long_add(bytes, &user->metadata);
}

/**
 * kcoll_account_metadata_fits() - whether a user keeps to its limit
 * @user: the user
 *
 * Return: false: the user has to give something back before it may map more.
 */
bool kcoll_account_metadata_fits(struct kcoll_user *user)
{
	return atomic_long_read(&user->metadata) <= metadata_limit();
}

/**
 * kcoll_account_metadata_ending() - the region has ended, its memory is not free yet
 * @user: the user
 * @bytes: how many bytes
 */
void kcoll_account_metadata_ending(struct kcoll_user *user, size_t bytes)
{
	atomic_long_add(bytes, &user->ending);
}

/**
 * kcoll_account_metadata_end() - gives the charge back
 * @user: the user
 * @bytes: how many bytes
 * @ending: whether kcoll_account_metadata_ending() was called
 */
void kcoll_account_metadata_end(struct kcoll_user *user, size_t bytes, bool ending)
{
	atomic_long_sub(bytes, &user->metadata);
	if (ending)
		(void)atomic_long_sub_return_release(bytes, &user->ending);
	wake_up_all(&user->freed);
}

/**
 * kcoll_account_stop() - nothing is charged any more
 */
void kcoll_account_stop(void)
{
	cancel_work_sync(&balance_work);
}
