// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounting: who may keep how many pages pinned, and how much metadata.
 *
 * Pins count in the owner's mm->pinned_vm against its RLIMIT_MEMLOCK, whichever task pins (the
 * limit is noted when the owner registers, because a peer cannot see it), and all together against
 * max_pinned_mb, of which every user who wants some has an equal share: as long as no user is
 * refused, any of them may use what is free; when one is refused within its share, the others lose
 * what they hold beyond theirs.
 *
 * Where a limit is reached the charge fails at once, with EDQUOT. A copy then goes through
 * uncached: waiting for the room would cost more than it saves. Sets that were not used for a while
 * are dropped for later attempts. A fault of a mapping cannot do without pages: it drops sets of
 * the same owner, in use or not, and tries again; FLOOR_PAGES are granted to it in any case. So a
 * small limit makes mappings slow and never makes them fail.
 *
 * Pages shared by two regions are charged twice. CAP_IPC_LOCK counts as it is when the owner
 * registers.
 */
#include <linux/capability.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/shrinker.h>
#include <linux/workqueue.h>

#include "account.h"
#include "compat.h"
#include "device.h"
#include "owner.h"
#include "params.h"
#include "pinset.h"
#include "user.h"

static atomic_long_t pinned_total;
static unsigned long contended =
	INITIAL_JIFFIES - 10 * HZ; /* jiffies, when a user was last refused pages of its share */
static struct shrinker *shrinker;

static void balance(struct work_struct *work);
static DECLARE_WORK(balance_work, balance);

long kcoll_account_pinned_pages(void)
{
	return atomic_long_read(&pinned_total);
}

/* The current task registers memory of its own: remember how much it may pin. */
void kcoll_account_note_limit(struct kcoll_owner *owner)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK);

	if (limit == RLIM_INFINITY || capable(CAP_IPC_LOCK))
		WRITE_ONCE(owner->memlock_pages, ULONG_MAX);
	else
		WRITE_ONCE(owner->memlock_pages, limit >> PAGE_SHIFT);
}

static unsigned long total_limit(void)
{
	unsigned long mb = READ_ONCE(kcoll_param_max_pinned_mb);

	return mb ? mb << (20 - PAGE_SHIFT) : totalram_pages() / 2;
}

/* What one user may have now. */
static unsigned long share(void)
{
	if (time_after(jiffies, READ_ONCE(contended) + HZ))
		return total_limit();
	return total_limit() / max(1U, kcoll_user_active());
}

static void balance(struct work_struct *work)
{
	kcoll_user_balance(share());
	kcoll_pinset_unpin_now();
}

/* A user is refused pages of its share: for the next second there are shares, and others keep to
 * them. */
static void claim(struct kcoll_user *user)
{
	WRITE_ONCE(user->refused, jiffies);
	WRITE_ONCE(contended, jiffies);
	queue_work(kcoll_wq, &balance_work);
}

static bool within_total(struct kcoll_user *user, unsigned long pages)
{
	unsigned long total = atomic_long_add_return(pages, &pinned_total);
	unsigned long mine = atomic_long_add_return(pages, &user->pinned_pages);

	return total <= total_limit() && mine <= share();
}

static void total_sub(struct kcoll_user *user, unsigned long pages)
{
	atomic_long_sub(pages, &user->pinned_pages);
	atomic_long_sub(pages, &pinned_total);
}

static bool within_memlock(struct kcoll_owner *owner, unsigned long pages,
			   struct kcoll_charge *charge)
{
	uint mode = READ_ONCE(kcoll_param_memlock);

	charge->memlock = mode != MEMLOCK_OFF;
	if (!charge->memlock)
		return true;
	return (unsigned long)atomic64_add_return(pages, &owner->mm->pinned_vm) <=
		       READ_ONCE(owner->memlock_pages) ||
	       mode == MEMLOCK_ACCOUNT;
}

/* Room for a later attempt: of what was not used for a while, or of what others have beyond their
 * shares. */
static void refused(struct kcoll_owner *owner, unsigned long pages, bool total)
{
	struct kcoll_user *user = owner->user;

	if (total && atomic_long_read(&user->pinned_pages) + pages <=
			     total_limit() / max(1U, kcoll_user_active())) {
		claim(user);
		return;
	}
	if (total && time_after(jiffies, READ_ONCE(contended) + HZ))
		kcoll_pinset_drop_cold(NULL, pages);
	else
		kcoll_pinset_drop_cold(owner, pages);
}

/* -EDQUOT: no allowance. floor: for a fault, which is granted FLOOR_PAGES in any case. */
int kcoll_account_charge(struct kcoll_owner *owner, unsigned long pages, bool floor,
			 struct kcoll_charge *charge)
{
	bool total = within_total(owner->user, pages),
	     memlock = within_memlock(owner, pages, charge);

	charge->pages = pages;
	if (atomic_long_add_return(pages, &owner->pinned_pages) <= FLOOR_PAGES && floor)
		return 0;
	if (total && memlock)
		return 0;
	kcoll_account_uncharge(owner, charge, pages);
	refused(owner, pages, !total);
	return -EDQUOT;
}

/* Gives so many pages of a charge back. */
void kcoll_account_uncharge(struct kcoll_owner *owner, struct kcoll_charge *charge,
			    unsigned long pages)
{
	if (charge->memlock)
		atomic64_sub(pages, &owner->mm->pinned_vm);
	atomic_long_sub(pages, &owner->pinned_pages);
	total_sub(owner->user, pages);
	charge->pages -= pages;
}

/* A fault was refused: sets of its owner give way, or of its user, whose share may be with another
 * process. */
void kcoll_account_make_room(struct kcoll_owner *owner, unsigned long pages)
{
	unsigned long some =
		max_t(unsigned long, pages, atomic_long_read(&owner->pinned_pages) / 2);
	unsigned long coming = atomic_long_read(&owner->dropped_pages);

	if (coming < pages)
		coming += kcoll_pinset_evict(owner, some);
	if (!coming && atomic_long_read(&owner->user->pinned_pages) + pages > share())
		kcoll_user_evict(owner->user, pages);
	kcoll_pinset_unpin_now();
}

/* --- metadata --- */

/* How long a registration waits for regions that have ended: some grace periods. */
#define METADATA_WAIT HZ

static bool charge_metadata(struct kcoll_user *user, size_t bytes)
{
	unsigned long mb = READ_ONCE(kcoll_param_max_metadata_mb);
	unsigned long limit = mb ? mb << 20 : (totalram_pages() << PAGE_SHIFT) / 64;

	if ((unsigned long)atomic_long_add_return(bytes, &user->metadata) <= limit)
		return true;
	atomic_long_sub(bytes, &user->metadata);
	return false;
}

/* Whether it is charged, or nothing is left to wait for. */
static bool metadata_settled(struct kcoll_user *user, size_t bytes, bool *charged)
{
	/* Acquire: pairs with the end's release, so that with nothing ending all is given back. */
	bool none_ending = !atomic_long_read_acquire(&user->ending);

	*charged = charge_metadata(user, bytes);
	return *charged || none_ending;
}

/*
 * -EDQUOT: the user has as much as it may have. A region that has ended is charged until the last
 * look-up is over and its memory is free, a grace period later: who registers and unregisters in a
 * loop waits for that here. May sleep; a fatal signal ends the wait.
 */
int kcoll_account_metadata(struct kcoll_user *user, size_t bytes)
{
	bool charged;

	wait_event_killable_timeout(user->freed, metadata_settled(user, bytes, &charged),
				    METADATA_WAIT);
	return charged ? 0 : -EDQUOT;
}

/* The region has ended, its memory is not free yet. */
void kcoll_account_metadata_ending(struct kcoll_user *user, size_t bytes)
{
	atomic_long_add(bytes, &user->ending);
}

void kcoll_account_metadata_end(struct kcoll_user *user, size_t bytes, bool ending)
{
	atomic_long_sub(bytes, &user->metadata);
	if (ending)
		(void)atomic_long_sub_return_release(bytes, &user->ending);
	wake_up_all(&user->freed);
}

/* --- pressure --- */

static unsigned long shrink_count(struct shrinker *unused, struct shrink_control *sc)
{
	return kcoll_pinset_cold_pages();
}

static unsigned long shrink_scan(struct shrinker *unused, struct shrink_control *sc)
{
	unsigned long dropped = kcoll_pinset_drop_cold(NULL, sc->nr_to_scan);

	return dropped ?: SHRINK_STOP;
}

int kcoll_account_start(void)
{
	shrinker = kcoll_shrinker_start("kcoll", shrink_count, shrink_scan);
	return IS_ERR(shrinker) ? PTR_ERR(shrinker) : 0;
}

void kcoll_account_stop(void)
{
	cancel_work_sync(&balance_work);
	kcoll_shrinker_stop(shrinker);
}
