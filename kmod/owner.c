// SPDX-License-Identifier: GPL-2.0-only
/* Owners: one object for each address space that has the device open or owns a region. */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "account.h"
#include "owner.h"
#include "pressure.h"
#include "user.h"

static DEFINE_MUTEX(owners_lock); /* guards the table; the last put takes it too */
static DEFINE_HASHTABLE(owners, 10);

/* What an owner takes and, when its process has ended, keeps of that. */
static size_t owner_bytes(void)
{
	return sizeof(struct kcoll_owner) + sizeof(struct mm_struct) + cpumask_size() +
	       PAGE_SIZE + /* the top of its page tables */
	       sizeof(struct pid);
}

/* REQUIRES: owners_lock */
static struct kcoll_owner *find(const struct mm_struct *mm)
{
	struct kcoll_owner *owner;

	hash_for_each_possible(owners, owner, hash, (unsigned long)mm)
		if (owner->mm == mm)
			return owner;
	return NULL;
}

static struct kcoll_owner *owner_new(struct mm_struct *mm)
{
	struct kcoll_owner *owner = kcoll_pressure_owner_alloc();
	int err = -ENOMEM;

	if (!owner)
		return ERR_PTR(err);
	owner->user = kcoll_user_get_current();
	if (!owner->user)
		goto free_owner;
	err = kcoll_account_metadata(owner->user, owner_bytes());
	if (err)
		goto put_user;
	owner->mm = mm;
	mmgrab(mm);
	owner->pid = task_tgid_nr(current);
	owner->leader = get_pid(task_tgid(current));
	refcount_set(&owner->ref, 1);
	kcoll_lru_init(&owner->lru, LRU_OWNER);
	kcoll_gate_init(&owner->gate);
	kcoll_pressure_owner_add(owner);
	return owner;

put_user:
	kcoll_user_put(owner->user);
free_owner:
	kcoll_pressure_owner_free(owner);
	return ERR_PTR(err);
}

static void owner_free(struct kcoll_owner *owner)
{
	kcoll_pressure_owner_remove(owner);
	kcoll_account_metadata_end(owner->user, owner_bytes(), false);
	kcoll_user_put(owner->user);
	put_pid(owner->leader);
	mmdrop(owner->mm);
	kcoll_pressure_owner_free(owner);
}

/**
 * kcoll_owner_get_current() - the owner of the current task's memory
 *
 * Context: may sleep.
 * Return: the owner, with a reference; ERR_PTR: -EDQUOT, the user has as much metadata as it may
 * have; -EINTR: killed; -ENOMEM.
 */
struct kcoll_owner *kcoll_owner_get_current(void)
{
	struct kcoll_owner *owner, *fresh = NULL;

	for (;;) {
		mutex_lock(&owners_lock);
		owner = find(current->mm);
		if (owner) {
			/* Not the last: that is dropped under the lock. */
			refcount_inc(&owner->ref);
		} else if (fresh) {
			hash_add(owners, &fresh->hash, (unsigned long)fresh->mm);
			swap(owner, fresh);
		}
		mutex_unlock(&owners_lock);
		if (owner)
			break;
		fresh = owner_new(current->mm); /* not under the lock that others' close() takes */
		if (IS_ERR(fresh))
			return fresh;
	}
	if (fresh)
		owner_free(fresh);
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
	owner_free(owner);
}
