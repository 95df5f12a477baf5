// SPDX-License-Identifier: GPL-2.0
/*
 * Domains: who knows the same 128-bit key. A domain exists as long as a descriptor or a region names it. Two names
 * of one domain are the same pointer, so that the check on every copy is one comparison.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "compat.h"
#include "domain.h"

struct domain {
	struct kref ref;
	struct list_head link;
	u8 key[16];
};

static DEFINE_MUTEX(domains_lock); /* guards the list; the last put takes it too */
static LIST_HEAD(domains);

/* Finds or founds the domain of a key. ERR_PTR(-EINVAL): all zero. */
struct domain *domain_join(const u8 key[16])
{
	struct domain *domain, *found = NULL, *fresh;

	if (!memchr_inv(key, 0, 16))
		return ERR_PTR(-EINVAL);
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	kref_init(&fresh->ref);
	memcpy(fresh->key, key, 16);

	mutex_lock(&domains_lock);
	list_for_each_entry(domain, &domains, link) {
		/* In constant time: nobody shall feel his way to a key. */
		if (!crypto_memneq(domain->key, key, 16)) {
			found = domain;
			kref_get(&found->ref);
			break;
		}
	}
	if (!found)
		list_add(&fresh->link, &domains);
	mutex_unlock(&domains_lock);

	if (!found)
		return fresh;
	kfree(fresh);
	return found;
}

struct domain *domain_get(struct domain *domain)
{
	if (domain)
		kref_get(&domain->ref);
	return domain;
}

static void domain_release(struct kref *ref)
{
	struct domain *domain = container_of(ref, struct domain, ref);

	list_del(&domain->link);
	mutex_unlock(&domains_lock);
	kfree_sensitive(domain);
}

void domain_put(struct domain *domain)
{
	if (domain)
		kref_put_mutex(&domain->ref, domain_release, &domains_lock);
}
