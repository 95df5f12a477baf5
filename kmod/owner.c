// SPDX-License-Identifier: GPL-2.0-only
/* Owners: one object for each address space that has the device open or owns a region. */
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "owner.h"
#include "user.h"

static DEFINE_MUTEX(owners_lock); /* guards the table; the last put takes it too */
static DEFINE_HASHTABLE(owners, 10);

static struct kcoll_owner *owner_new(struct mm_struct *mm)
{
	struct kcoll_owner *owner = kzalloc(sizeof(*owner), GFP_KERNEL_ACCOUNT);

	if (!owner)
		return NULL;
	owner->user = kcoll_user_get_current();
	if (!owner->user) {
		kfree(owner);
		return NULL;
	}
	owner->mm = mm;
	mmgrab(mm);
	owner->pid = task_tgid_nr(current);
	owner->leader = get_pid(task_tgid(current));
	refcount_set(&owner->ref, 1);
	kcoll_lru_init(&owner->lru, LRU_OWNER);
	kcoll_gate_init(&owner->gate);
	return owner;
}

/**
 * kcoll_owner_get_current() - the owner of the current task's memory
 *
 * Return: the owner, with a reference; NULL: no memory.
 */
struct kcoll_owner *kcoll_owner_get_current(void)
{
	struct kcoll_owner *owner;

	mutex_lock(&owners_lock);
	hash_for_each_possible(owners, owner, hash, (unsigned long)current->mm) {
		if (owner->mm == current->mm) {
			/* Not the last: that is dropped under the lock. */
			refcount_inc(&owner->ref);
			goto unlock;
		}
	}
	owner = owner_new(current->mm);
	if (owner)
		hash_add(owners, &owner->hash, (unsigned long)owner->mm);
unlock:
	mutex_unlock(&owners_lock);
	return owner;
}

/**
 * kcoll_owner_get() - takes a reference
 * @owner: the owner
 *
 * Return: the owner.
 */
struct kcoll_owner *kcoll_owner_get(struct kcoll_owner *owner)
{
	refcount_inc(&owner->ref);
	return owner;
}

/**
 * kcoll_owner_put() - gives a reference back
 * @owner: the owner
 *
 * Context: may sleep.
 */
void kcoll_owner_put(struct kcoll_owner *owner)
{
	if (!refcount_dec_and_mutex_lock(&owner->ref, &owners_lock))
		return;
	hash_del(&owner->hash);
	mutex_unlock(&owners_lock);
	WARN_ON_ONCE(atomic_long_read(&owner->pinned_pages));
	kcoll_user_put(owner->user);
	put_pid(owner->leader);
	mmdrop(owner->mm);
	kfree(owner);
}
