// SPDX-License-Identifier: GPL-2.0-only
/* Users: one object for each user that has the device open, or whose process owns a region. */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "pinset.h"
#include "user.h"

static DEFINE_MUTEX(table_lock); /* guards the table; the last put takes it too */
static DEFINE_HASHTABLE(table, 8);

static DEFINE_SPINLOCK(users_lock); /* guards what follows; inside table_lock */
static LIST_HEAD(users);
static bool counted;		   /* whether what follows holds: */
static unsigned long counted_at;   /* jiffies */
static unsigned int counted_users; /* that were active then */

/* REQUIRES: table_lock */
static struct kcoll_user *find(kuid_t uid)
{
	struct kcoll_user *user;

	hash_for_each_possible(table, user, hash, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct kcoll_user *user_new(kuid_t uid)
{
	struct kcoll_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->uid = uid;
	refcount_set(&user->ref, 1);
	user->refused = jiffies - 10 * HZ;
	kcoll_lru_init(&user->lru, LRU_USER);
	kcoll_dying_init(&user->dying);
	init_waitqueue_head(&user->freed);
	return user;
}

static void user_free(struct kcoll_user *user)
{
	kcoll_dying_stop(&user->dying);
	kfree(user);
}

/*
 * Users that a user has made, in a user namespace of its own, are that user: subordinate ids do
 * not multiply its allowances. Those of a namespace that root has made are users like others.
 */
static kuid_t accountable(void)
{
	const struct user_namespace *ns;
	kuid_t uid = current_euid();

	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
	return uid;
}

/**
 * kcoll_user_get_current() - the user who is accountable for the current task
 *
 * Return: the user, with a reference; NULL: no memory.
 */
struct kcoll_user *kcoll_user_get_current(void)
{
	kuid_t uid = accountable();
	struct kcoll_user *user, *fresh = NULL;

	for (;;) {
		mutex_lock(&table_lock);
		user = find(uid);
		if (user) {
			refcount_inc(&user->ref);
		} else if (fresh) {
			hash_add(table, &fresh->hash, __kuid_val(fresh->uid));
			spin_lock(&users_lock);
			list_add_tail(&fresh->all, &users);
			spin_unlock(&users_lock);
			swap(user, fresh);
		}
		mutex_unlock(&table_lock);
		if (user)
			break;
		fresh = user_new(uid); /* not under the lock that others' close() takes */
		if (!fresh)
			return NULL;
	}
	if (fresh)
		user_free(fresh);
	return user;
}

/**
 * kcoll_user_get() - takes a reference
 * @user: the user
 *
 * Return: the user.
 */
struct kcoll_user *kcoll_user_get(struct kcoll_user *user)
{
	refcount_inc(&user->ref);
	return user;
}

/**
 * kcoll_user_put() - gives a reference back
 * @user: the user
 *
 * Context: may sleep.
 */
void kcoll_user_put(struct kcoll_user *user)
{
	if (!refcount_dec_and_mutex_lock(&user->ref, &table_lock))
		return;
	hash_del(&user->hash);
	spin_lock(&users_lock);
	list_del(&user->all);
	spin_unlock(&users_lock);
	mutex_unlock(&table_lock);
	WARN_ON_ONCE(atomic_long_read(&user->pinned_pages) || atomic_long_read(&user->metadata));
	user_free(user);
}

/* REQUIRES: users_lock */
static bool active(const struct kcoll_user *user)
{
	return atomic_long_read(&user->pinned_pages) ||
	       time_before(jiffies, READ_ONCE(user->refused) + HZ);
}

/**
 * kcoll_user_active() - users that have something pinned, or were refused it within a second
 *
 * Counted once in a jiffy: those who pin while memory is short ask for it each time.
 *
 * Return: their number.
 */
unsigned int kcoll_user_active(void)
{
	struct kcoll_user *user;
	unsigned int n;

	spin_lock(&users_lock);
	if (!counted || time_after(jiffies, counted_at)) {
		counted = true;
		counted_at = jiffies;
		counted_users = 0;
		list_for_each_entry(user, &users, all)
			counted_users += active(user);
	}
	n = counted_users;
	spin_unlock(&users_lock);
	return n;
}

/**
 * kcoll_user_claim() - a user is refused pages of its share: it is active for a second
 * @user: the user
 */
void kcoll_user_claim(struct kcoll_user *user)
{
	spin_lock(&users_lock);
	counted &= active(user);
	WRITE_ONCE(user->refused, jiffies);
	spin_unlock(&users_lock);
}

/*
 * The user that follows in the list of all, with a reference; the one before is put. It is in the
 * list as long as that reference is held, so each step costs the same.
 */
static struct kcoll_user *next_user(struct kcoll_user *last)
{
	struct kcoll_user *user = last, *next = NULL;

	spin_lock(&users_lock);
	user = list_prepare_entry(user, &users, all);
	list_for_each_entry_continue(user, &users, all) {
		if (refcount_inc_not_zero(&user->ref)) {
			next = user;
			break;
		}
	}
	spin_unlock(&users_lock);
	if (last)
		kcoll_user_put(last);
	return next;
}

/**
 * kcoll_user_unpin_now_all() - no delay for what is dying now, of all users
 */
void kcoll_user_unpin_now_all(void)
{
	struct kcoll_user *user;

	spin_lock(&users_lock);
	list_for_each_entry(user, &users, all)
		kcoll_dying_unpin_now(&user->dying);
	spin_unlock(&users_lock);
}

/* Pages beyond so many that a user has and that are not on their way out. */
static long excess(const struct kcoll_user *user, unsigned long pages)
{
	return atomic_long_read(&user->pinned_pages) - atomic_long_read(&user->dropped_pages) -
	       (long)pages;
}

/**
 * kcoll_user_evict() - drops sets of a user's processes, whether in use or not
 * @user: the user
 * @pages: how many pages are to be on their way out, with those that already are
 */
void kcoll_user_evict(struct kcoll_user *user, unsigned long pages)
{
	long missing = (long)pages - atomic_long_read(&user->dropped_pages);

	if (missing > 0)
		kcoll_pinset_drop(&user->lru, missing, ULONG_MAX, true);
}

/**
 * kcoll_user_balance() - drops every user's pages beyond its share, whether in use or not
 * @share: in pages
 *
 * Context: may sleep.
 */
void kcoll_user_balance(unsigned long share)
{
	struct kcoll_user *user = NULL;

	while ((user = next_user(user))) {
		long beyond = excess(user, share);

		if (beyond > 0)
			kcoll_pinset_drop(&user->lru, beyond, ULONG_MAX, true);
		cond_resched();
	}
}

/**
 * kcoll_user_relieve() - drops cold sets of users that have more than their share
 * @pages: how many pages, of all together
 * @share: in pages; none of them is left with less
 *
 * Context: may sleep.
 */
void kcoll_user_relieve(unsigned long pages, unsigned long share)
{
	struct kcoll_user *user = NULL;
	unsigned long dropped = 0;

	while ((user = next_user(user))) {
		long beyond = excess(user, share);

		if (beyond > 0 && dropped < pages)
			dropped += kcoll_pinset_drop(&user->lru, pages - dropped, beyond, false);
		cond_resched();
	}
}
