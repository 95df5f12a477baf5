/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_DOMAIN_H
#define _KCOLL_DOMAIN_H

#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/types.h>

#include "region.h"
#include "stats.h"

struct kcoll_user;
struct seq_file;

/*
 * The name by which JOIN finds a domain: its key, or the user and its namespace. A descriptor's own
 * domain has none.
 */
struct kcoll_domain_name {
	bool keyed;
	u8 key[16]; /* if not keyed: made of the user and the user namespace */
};

/* What the descriptors of a domain share; others find, map, count and wait for nothing in it. */
struct kcoll_domain {
	struct rhashtable regions;	  /* by cookie */
	struct ida indices;		  /* of regions in the space of mmap offsets */
	struct address_space space;	  /* all mappings of the domain's regions */
	struct file *file;		  /* whose f_mapping it is; mappings hold it */
	struct mutex lock;		  /* guards what follows */
	struct list_head stats;		  /* of open descriptors, and `events` */
	struct kcoll_counters_cpu closed; /* what closed ones left */
	struct kcoll_counters events;	  /* what belongs to no descriptor: faults, invalidations */

	struct kcoll_user *user; /* who founded it: is charged */
	struct kref ref;	 /* of the file and of regions */
	struct kcoll_domain_name name;
	struct user_namespace *userns; /* what the name is made of, or NULL */
	unsigned int members;	       /* open descriptors; under domains_lock */
	struct hlist_node link;	       /* while it has members and a name */
	struct list_head all;
};

struct kcoll_domain *kcoll_domain_join(const u8 key[16], struct kcoll_user *user);
struct kcoll_domain *kcoll_domain_join_user(struct kcoll_user *user);
struct kcoll_domain *kcoll_domain_private(struct kcoll_user *user);
void kcoll_domain_leave(struct kcoll_domain *domain);
struct kcoll_domain *kcoll_domain_get(struct kcoll_domain *domain);
void kcoll_domain_put(struct kcoll_domain *domain);

int kcoll_domain_publish(struct kcoll_region *region);
void kcoll_domain_unpublish(struct kcoll_region *region);
void kcoll_domain_show_regions(struct seq_file *m);
void kcoll_domain_sum_all(struct kcoll_stats *sum);

/**
 * domain_hash() - the hash of a cookie
 * @cookie: the cookie
 * @len: unused
 * @seed: unused
 *
 * Return: a part of the cookie, which is random.
 */
static inline u32 domain_hash(const void *cookie, u32 len, u32 seed)
{
	return *(const u64 *)cookie;
}

/**
 * domain_compare() - compares a region's cookie with the one that is looked up
 * @arg: the latter
 * @region: the region
 *
 * Return: 0: equal.
 */
static inline int domain_compare(struct rhashtable_compare_arg *arg, const void *region)
{
	return ((const struct kcoll_region *)region)->cookie != *(const u64 *)arg->key;
}

static const struct rhashtable_params domain_table __maybe_unused = {
	.key_len = sizeof(u64),
	.key_offset = offsetof(struct kcoll_region, cookie),
	.head_offset = offsetof(struct kcoll_region, hash),
	.hashfn = domain_hash,
	.obj_cmpfn = domain_compare,
	.automatic_shrinking = true,
};

/**
 * domain_find() - finds a region by its cookie
 * @domain: the domain
 * @cookie: of the region
 *
 * Context: rcu_read_lock().
 * Return: the region, without a reference; NULL: there is none.
 */
static inline struct kcoll_region *domain_find(struct kcoll_domain *domain, u64 cookie)
{
	return rhashtable_lookup(&domain->regions, &cookie, domain_table);
}

#endif
