// SPDX-License-Identifier: GPL-2.0-only
/* Users: one object for each user that has the device open, or whose process owns a region. */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "owner.h"
#include "pinset.h"
#include "user.h"

static DEFINE_MUTEX(table_lock); /* guards writing to the table; the last put takes it too */
static DEFINE_HASHTABLE(table, 8);
/* guards the users' lists of owners, and walking the table; inside table_lock */
static DEFINE_SPINLOCK(users_lock);

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
	INIT_LIST_HEAD(&user->owners);
	init_waitqueue_head(&user->freed);
	return user;
}

/**
 * kcoll_user_get_current() - the user who runs the current task
 *
 * Return: the user, with a reference; NULL: no memory.
 */
struct kcoll_user *kcoll_user_get_current(void)
{
	struct kcoll_user *user;

	mutex_lock(&table_lock);
	user = find(current_euid());
	if (user) {
		refcount_inc(&user->ref);
	} else {
		user = user_new(current_euid());
		if (user) {
			spin_lock(&users_lock);
			hash_add(table, &user->hash, __kuid_val(user->uid));
			spin_unlock(&users_lock);
		}
	}
	mutex_unlock(&table_lock);
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
	spin_lock(&users_lock);
	hash_del(&user->hash);
	spin_unlock(&users_lock);
	mutex_unlock(&table_lock);
	WARN_ON_ONCE(atomic_long_read(&user->pinned_pages) || atomic_long_read(&user->metadata));
	kfree(user);
}

/**
 * kcoll_user_add_owner() - a process of the user's has opened the device
 * @user: the user
 * @owner: the owner
 */
void kcoll_user_add_owner(struct kcoll_user *user, struct kcoll_owner *owner)
{
	spin_lock(&users_lock);
	list_add(&owner->of_user, &user->owners);
	spin_unlock(&users_lock);
}

/**
 * kcoll_user_remove_owner() - the opposite
 * @owner: the owner
 */
void kcoll_user_remove_owner(struct kcoll_owner *owner)
{
	spin_lock(&users_lock);
	list_del(&owner->of_user);
	spin_unlock(&users_lock);
}

/**
 * kcoll_user_active() - users that have something pinned, or were refused it within a second
 *
 * Return: their number.
 */
unsigned int kcoll_user_active(void)
{
	unsigned int bucket, active = 0;
	struct kcoll_user *user;

	spin_lock(&users_lock);
	hash_for_each(table, bucket, user, hash)
		active += atomic_long_read(&user->pinned_pages) ||
			  time_before(jiffies, READ_ONCE(user->refused) + HZ);
	spin_unlock(&users_lock);
	return active;
}

/* Pages of an owner that are not on their way out. */
static long staying(const struct kcoll_owner *owner)
{
	return atomic_long_read(&owner->pinned_pages) - atomic_long_read(&owner->dropped_pages);
}

/* REQUIRES: users_lock. The owner that has most, with a reference; *sum is what all have. */
static struct kcoll_owner *largest(struct kcoll_user *user, long *sum)
{
	struct kcoll_owner *owner, *best = NULL;

	*sum = 0;
	list_for_each_entry(owner, &user->owners, of_user) {
		*sum += max(staying(owner), 0L);
		if (staying(owner) > 0 && (!best || staying(owner) > staying(best)))
			best = owner;
	}
	return best && refcount_inc_not_zero(&best->ref) ? best : NULL;
}

/*
 * Drops sets of a user, whether in use or not, until so many pages stay at most. REQUIRES: a
 * reference to it.
 */
static void shrink_to(struct kcoll_user *user, unsigned long pages)
{
	struct kcoll_owner *owner;
	unsigned long dropped;
	long sum;

	do {
		spin_lock(&users_lock);
		owner = largest(user, &sum);
		spin_unlock(&users_lock);
		dropped = 0;
		if (owner && sum > (long)pages)
			dropped = kcoll_pinset_evict(owner, clamp(sum - (long)pages, 1L,
								  max(staying(owner), 1L)));
		if (owner)
			kcoll_owner_put(owner);
		cond_resched();
	} while (dropped);
}

/**
 * kcoll_user_evict() - drops sets of a user's processes
 * @user: the user
 * @pages: how many pages
 */
void kcoll_user_evict(struct kcoll_user *user, unsigned long pages)
{
	long stay = atomic_long_read(&user->pinned_pages) - (long)pages;

	shrink_to(user, max(stay, 0L));
}

/**
 * kcoll_user_balance() - drops every user's pages beyond its share
 * @share: in pages
 */
void kcoll_user_balance(unsigned long share)
{
	unsigned int bucket, skip = 0, i;
	struct kcoll_user *user, *found;

	do {
		i = 0;
		found = NULL;
		spin_lock(&users_lock);
		hash_for_each(table, bucket, user, hash)
			if (!found && i++ == skip && refcount_inc_not_zero(&user->ref))
				found = user;
		spin_unlock(&users_lock);
		if (found) {
			shrink_to(found, share);
			kcoll_user_put(found);
		}
	} while (++skip <= i);
}
