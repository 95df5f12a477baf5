// SPDX-License-Identifier: GPL-2.0-only
/*
 * Domains: who knows the same 128-bit key. A domain exists as long as a descriptor or a region
 * names it. Two names of one domain are the same pointer, so that the check on every copy is one
 * comparison.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/once.h>
#include <linux/siphash.h>
#include <linux/slab.h>

#include "compat.h"
#include "domain.h"

struct kcoll_domain {
	struct kref ref;
	struct hlist_node link;
	u8 key[16];
};

static DEFINE_MUTEX(domains_lock); /* guards the table; the last put takes it too */
static DEFINE_HASHTABLE(domains, 12);

/* Keyed: users that choose keys cannot choose the bucket that others search. */
static u32 bucket_of(const u8 key[16])
{
	static siphash_key_t secret;
	u64 words[2];

	get_random_once(&secret, sizeof(secret));
	memcpy(words, key, sizeof(words));
	return siphash_2u64(words[0], words[1], &secret);
}

/* Finds or founds the domain of a key. ERR_PTR(-EINVAL): all zero. */
struct kcoll_domain *kcoll_domain_join(const u8 key[16])
{
	struct kcoll_domain *domain, *found = NULL, *fresh;
	u32 bucket;

	if (!memchr_inv(key, 0, 16))
		return ERR_PTR(-EINVAL);
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	kref_init(&fresh->ref);
	memcpy(fresh->key, key, 16);
	bucket = bucket_of(key);

	mutex_lock(&domains_lock);
	hash_for_each_possible(domains, domain, link, bucket) {
		/* In constant time: no caller shall learn a key byte by byte. */
		if (!crypto_memneq(domain->key, key, 16)) {
			found = domain;
			kref_get(&found->ref);
			break;
		}
	}
	if (!found)
		hash_add(domains, &fresh->link, bucket);
	mutex_unlock(&domains_lock);

	if (!found)
		return fresh;
	kfree(fresh);
	return found;
}

struct kcoll_domain *kcoll_domain_get(struct kcoll_domain *domain)
{
	if (domain)
		kref_get(&domain->ref);
	return domain;
}

static void domain_release(struct kref *ref)
{
	struct kcoll_domain *domain = container_of(ref, struct kcoll_domain, ref);

	hash_del(&domain->link);
	mutex_unlock(&domains_lock);
	kfree_sensitive(domain);
}

void kcoll_domain_put(struct kcoll_domain *domain)
{
	if (domain)
		kref_put_mutex(&domain->ref, domain_release, &domains_lock);
}
