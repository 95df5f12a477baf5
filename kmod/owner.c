// SPDX-License-Identifier: GPL-2.0
/* Owners: one object for each address space that has the device open or owns a region. */
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "owner.h"

static DEFINE_MUTEX(owners_lock); /* guards the list; the last put takes it too */
static LIST_HEAD(owners);

struct owner *owner_get_current(void)
{
	struct owner *owner, *fresh;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	mutex_lock(&owners_lock);
	list_for_each_entry(owner, &owners, link) {
		if (owner->mm == current->mm) {
			refcount_inc(&owner->ref);
			mutex_unlock(&owners_lock);
			kfree(fresh);
			return owner;
		}
	}
	fresh->mm = current->mm;
	mmgrab(fresh->mm);
	fresh->pid = task_tgid_nr(current);
	refcount_set(&fresh->ref, 1);
	gate_init(&fresh->gate);
	list_add(&fresh->link, &owners);
	mutex_unlock(&owners_lock);
	return fresh;
}

struct owner *owner_get(struct owner *owner)
{
	refcount_inc(&owner->ref);
	return owner;
}

void owner_put(struct owner *owner)
{
	if (!refcount_dec_and_mutex_lock(&owner->ref, &owners_lock))
		return;
	list_del(&owner->link);
	mutex_unlock(&owners_lock);
	WARN_ON_ONCE(atomic_long_read(&owner->pinned_pages));
	mmdrop(owner->mm);
	kfree(owner);
}
