// SPDX-License-Identifier: GPL-2.0-only
/*
 * Domains: what the descriptors that joined by the same 128-bit key share, or those of one user
 * that asked for the user's; a descriptor that joined none has one of its own. All of it belongs to
 * the domain, so that one domain's look-ups, mappings and statistics cost and tell another's
 * members nothing.
 *
 * A domain can be joined while a descriptor is a member. Its file, which is the file of every
 * mapping of its regions, holds one reference, every region another: so its address_space is there
 * as long as something may be shown, or zapped.
 */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "account.h"
#include "compat.h"
#include "domain.h"
#include "owner.h"
#include "user.h"

static DEFINE_MUTEX(domains_lock); /* guards the table, the list, members and `gone` */
static DEFINE_HASHTABLE(domains, 12);
static LIST_HEAD(all);
static struct kcoll_counters_cpu gone; /* what domains that are no more have left */

static const struct address_space_operations no_operations = {};

/* Keyed: users that choose keys cannot choose the bucket that others search. */
static u32 bucket_of(const struct kcoll_domain_name *name)
{
	static siphash_key_t secret;
	u64 words[2];

	get_random_once(&secret, sizeof(secret));
	memcpy(words, name->key, sizeof(words));
	return siphash_3u64(words[0], words[1], name->keyed, &secret);
}

/* REQUIRES: domains_lock */
static struct kcoll_domain *find(const struct kcoll_domain_name *name, u32 bucket)
{
	struct kcoll_domain *domain;

	hash_for_each_possible(domains, domain, link, bucket)
		/* In constant time: no caller shall learn a key byte by byte. */
		if (domain->name.keyed == name->keyed &&
		    !crypto_memneq(domain->name.key, name->key, sizeof(name->key)))
			return domain;
	return NULL;
}

/* About what a domain takes, without its regions. */
static size_t domain_bytes(void)
{
	return sizeof(struct kcoll_domain) + sizeof(struct file) + COUNTERS_BYTES +
	       64 * sizeof(void *); /* the least that a hash table has */
}

static void domain_free(struct kref *ref)
{
	struct kcoll_domain *domain = container_of(ref, struct kcoll_domain, ref);
	unsigned int i;

	kcoll_stats_exit(&domain->events, domain);
	mutex_lock(&domains_lock);
	list_del(&domain->all);
	for (i = 0; i < STATS_WORDS; i++)
		gone.v[i] += domain->closed.v[i];
	mutex_unlock(&domains_lock);
	rhashtable_destroy(&domain->regions);
	ida_destroy(&domain->indices);
	put_user_ns(domain->userns);
	kcoll_account_metadata_end(domain->user, domain_bytes(), false);
	kcoll_user_put(domain->user);
	kfree_sensitive(domain);
}

/**
 * kcoll_domain_get() - takes a reference
 * @domain: a domain that the caller is a member of, or has a reference to
 *
 * Return: the domain.
 */
struct kcoll_domain *kcoll_domain_get(struct kcoll_domain *domain)
{
	kref_get(&domain->ref);
	return domain;
}

/**
 * kcoll_domain_put() - gives a reference back; the last one frees the domain
 * @domain: the domain
 *
 * Context: may sleep.
 */
void kcoll_domain_put(struct kcoll_domain *domain)
{
	kref_put(&domain->ref, domain_free);
}

/* The last mapping is gone, and the last member. */
static int file_release(struct inode *inode, struct file *file)
{
	/* The file outlives this call, its address_space may not. */
	file->f_mapping = inode->i_mapping;
	kcoll_domain_put(file->private_data);
	return 0;
}

static const struct file_operations file_fops = {
	.owner = THIS_MODULE,
	.release = file_release,
	.get_unmapped_area = thp_get_unmapped_area, /* for mremap() */
};

/* `name`: may be NULL, it cannot be found then */
static struct kcoll_domain *domain_new(const struct kcoll_domain_name *name,
				       struct kcoll_user *user)
{
	struct kcoll_domain *domain;
	int err;

	err = kcoll_account_metadata(user, domain_bytes());
	if (err)
		return ERR_PTR(err);
	domain = kzalloc(sizeof(*domain), GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!domain)
		goto uncharge;
	kref_init(&domain->ref);
	if (name)
		domain->name = *name;
	INIT_LIST_HEAD(&domain->all);
	INIT_LIST_HEAD(&domain->stats);
	mutex_init(&domain->lock);
	ida_init(&domain->indices);
	err = kcoll_stats_init(&domain->events);
	if (err)
		goto free_domain;
	kcoll_stats_enter(&domain->events, domain);
	err = rhashtable_init(&domain->regions, &domain_table);
	if (err)
		goto exit_stats;
	domain->file = anon_inode_getfile("kcoll", &file_fops, domain, O_RDWR);
	err = PTR_ERR_OR_ZERO(domain->file);
	if (err)
		goto destroy_table;
	address_space_init_once(&domain->space);
	domain->space.a_ops = &no_operations;
	domain->space.host = file_inode(domain->file);
	domain->file->f_mapping = &domain->space;
	if (name && !name->keyed)
		domain->userns = get_user_ns(current_user_ns());
	domain->user = kcoll_user_get(user);
	return domain;

destroy_table:
	rhashtable_destroy(&domain->regions);
exit_stats:
	kcoll_stats_exit(&domain->events, domain);
free_domain:
	kfree(domain);
uncharge:
	kcoll_account_metadata_end(user, domain_bytes(), false);
	return ERR_PTR(err);
}

/* REQUIRES: domains_lock. Makes the caller a member; adds `fresh`, if any, where there is none. */
static struct kcoll_domain *enter(const struct kcoll_domain_name *name, struct kcoll_domain *fresh)
{
	u32 bucket = bucket_of(name);
	struct kcoll_domain *domain = find(name, bucket);

	if (!domain && fresh) {
		domain = fresh;
		hash_add(domains, &domain->link, bucket);
		list_add(&domain->all, &all);
	}
	if (domain)
		domain->members++;
	return domain;
}

/* Nothing is allocated under the lock: a member that is short of memory makes none wait. */
static struct kcoll_domain *find_or_found(const struct kcoll_domain_name *name,
					  struct kcoll_user *user)
{
	struct kcoll_domain *domain, *fresh;

	mutex_lock(&domains_lock);
	domain = enter(name, NULL);
	mutex_unlock(&domains_lock);
	if (domain)
		return domain;
	fresh = domain_new(name, user);
	if (IS_ERR(fresh))
		return fresh;
	mutex_lock(&domains_lock);
	domain = enter(name, fresh);
	mutex_unlock(&domains_lock);
	if (domain != fresh)
		fput(fresh->file);
	return domain;
}

/**
 * kcoll_domain_join() - finds or founds the domain of a key
 * @key: 16 bytes
 * @user: the caller's
 *
 * Return: the domain, which the caller must leave; ERR_PTR: -EDQUOT, -EINTR, -ENOMEM.
 */
struct kcoll_domain *kcoll_domain_join(const u8 key[16], struct kcoll_user *user)
{
	struct kcoll_domain_name name = { .keyed = true };

	memcpy(name.key, key, sizeof(name.key));
	return find_or_found(&name, user);
}

/**
 * kcoll_domain_join_user() - finds or founds the domain of the current user, in its user namespace
 * @user: the caller's
 *
 * Return: the domain, which the caller must leave; ERR_PTR: -EDQUOT, -EINTR, -ENOMEM.
 */
struct kcoll_domain *kcoll_domain_join_user(struct kcoll_user *user)
{
	struct kcoll_domain_name name = {};
	u64 words[2] = { (unsigned long)current_user_ns(), __kuid_val(current_euid()) };

	BUILD_BUG_ON(sizeof(words) != sizeof(name.key));
	memcpy(name.key, words, sizeof(name.key));
	return find_or_found(&name, user);
}

/**
 * kcoll_domain_private() - founds a domain that no other descriptor can join
 * @user: the caller's
 *
 * Return: the domain, which the caller must leave; ERR_PTR: -EDQUOT, -EINTR, -ENOMEM.
 */
struct kcoll_domain *kcoll_domain_private(struct kcoll_user *user)
{
	struct kcoll_domain *domain = domain_new(NULL, user);

	if (IS_ERR(domain))
		return domain;
	mutex_lock(&domains_lock);
	domain->members = 1;
	list_add(&domain->all, &all);
	mutex_unlock(&domains_lock);
	return domain;
}

/**
 * kcoll_domain_leave() - ends a membership
 * @domain: from kcoll_domain_join(), kcoll_domain_join_user() or kcoll_domain_private()
 */
void kcoll_domain_leave(struct kcoll_domain *domain)
{
	bool last;

	mutex_lock(&domains_lock);
	last = !--domain->members;
	if (last)
		hash_del(&domain->link);
	mutex_unlock(&domains_lock);
	if (last)
		fput(domain->file);
}

/* --- regions --- */

/**
 * kcoll_domain_publish() - gives a region its cookie, by which it is found from then on
 * @region: the region
 *
 * Return: 0 or -ENOMEM.
 */
int kcoll_domain_publish(struct kcoll_region *region)
{
	int err;

	do {
		do
			region->cookie = get_random_u64();
		while (!region->cookie);
		err = rhashtable_lookup_insert_fast(&region->domain->regions, &region->hash,
						    domain_table);
		if (err == -EBUSY) /* the table is being enlarged */
			cond_resched();
	} while (err == -EEXIST || err == -EBUSY);
	return err == -E2BIG ? -ENOMEM : err;
}

/**
 * kcoll_domain_unpublish() - the region is not found any more
 * @region: the region; it must not be freed before a grace period
 */
void kcoll_domain_unpublish(struct kcoll_region *region)
{
	rhashtable_remove_fast(&region->domain->regions, &region->hash, domain_table);
}

#define SHOWN_AT_ONCE 64 /* regions between two points where others may run */

/* REQUIRES: RCU read side */
static void show(struct kcoll_region *region, struct seq_file *m)
{
	u64 drops, zaps;
	unsigned int live;

	spin_lock(&region->lock);
	live = region->live;
	drops = region->drops;
	zaps = region->zaps;
	spin_unlock(&region->lock);
	seq_printf(m, "%d %u %llu %u %s%s %d %u %llu %llu %llu %ld\n", region->owner->pid,
		   from_kuid_munged(seq_user_ns(m), region->euid), region->len, region->nsegments,
		   region->direction & KCOLL_READ ? "r" : "",
		   region->direction & KCOLL_WRITE ? "w" : "", atomic_read(&region->maps), live,
		   drops, zaps, generation_now(&region->gen),
		   atomic_long_read(&region->owner->pinned_pages));
}

/**
 * kcoll_domain_show_regions() - all regions of all domains, for the administrator
 * @m: where to
 */
void kcoll_domain_show_regions(struct seq_file *m)
{
	struct rhashtable_iter iter;
	struct kcoll_domain *domain;
	struct kcoll_region *region;
	unsigned int n;

	mutex_lock(&domains_lock);
	list_for_each_entry(domain, &all, all) {
		rhashtable_walk_enter(&domain->regions, &iter);
		rhashtable_walk_start(&iter);
		for (n = 1; (region = rhashtable_walk_next(&iter)); n++) {
			if (!IS_ERR(region))
				show(region, m);
			if (n % SHOWN_AT_ONCE)
				continue;
			rhashtable_walk_stop(&iter);
			cond_resched();
			rhashtable_walk_start(&iter);
		}
		rhashtable_walk_stop(&iter);
		rhashtable_walk_exit(&iter);
		cond_resched();
	}
	mutex_unlock(&domains_lock);
}

/**
 * kcoll_domain_sum_all() - statistics of all domains, since the module was loaded
 * @sum: what they are added to
 */
void kcoll_domain_sum_all(struct kcoll_stats *sum)
{
	struct kcoll_domain *domain;
	unsigned int i;

	mutex_lock(&domains_lock);
	for (i = 0; i < STATS_WORDS; i++)
		(&sum->copies)[i] += gone.v[i];
	list_for_each_entry(domain, &all, all)
		kcoll_stats_sum_domain(domain, sum);
	mutex_unlock(&domains_lock);
}
