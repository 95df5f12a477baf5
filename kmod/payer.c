// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who pays for a region's kernel memory: its owner's user as long as it is alive, afterwards those
 * who still map it: of them, who mapped it last. Its owner's again while none does, but something
 * that is in progress holds it.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "account.h"
#include "owner.h"
#include "payer.h"
#include "region.h"
#include "user.h"

/* What a mapping takes, as the allocator rounds. */
#define MAPPING_BYTES roundup_pow_of_two(sizeof(struct kcoll_mapping))

/**
 * kcoll_payer_start() - charges a region to its owner's user
 * @region: the region, of which nothing is charged yet
 * @user: the user
 *
 * Context: may sleep.
 * Return: 0; -EDQUOT; -EINTR: killed.
 */
int kcoll_payer_start(struct kcoll_region *region, struct kcoll_user *user)
{
	int err = kcoll_account_metadata(user, region->metadata);

	if (!err)
		region->payer = kcoll_user_get(user);
	return err;
}

/**
 * kcoll_payer_done() - none pays for a region any more: its memory is free
 * @payer: who paid for it, whose reference is given back; NULL: nothing was charged
 * @metadata: what the region took, in bytes
 * @ending: whether it was among those that were ending
 *
 * Context: may sleep.
 */
void kcoll_payer_done(struct kcoll_user *payer, size_t metadata, bool ending)
{
	if (!payer)
		return;
	kcoll_account_metadata_end(payer, metadata, ending);
	kcoll_user_put(payer);
}

/* REQUIRES: region->lock. The region has ended: only what is in progress holds it. */
static void mark_ending(struct kcoll_region *region)
{
	if (region->ending)
		return;
	kcoll_account_metadata_ending(region->payer, region->metadata);
	region->ending = true;
}

/*
 * REQUIRES: region->lock; the region has ended. Chooses who pays for it from now on; returns who
 * does not any more, for relieve(), or NULL.
 */
static struct kcoll_user *pass_on(struct kcoll_region *region)
{
	struct kcoll_mapping *last =
		list_first_entry_or_null(&region->mappings, struct kcoll_mapping, link);
	struct kcoll_user *before = region->payer;
	struct kcoll_user *after = last ? last->user : region->owner->user;

	if (after != before) {
		kcoll_account_metadata_force(after, region->metadata);
		region->payer = kcoll_user_get(after);
	}
	if (!last)
		mark_ending(region);
	return after != before ? before : NULL;
}

static void relieve(struct kcoll_user *user, size_t bytes)
{
	if (!user)
		return;
	kcoll_account_metadata_end(user, bytes, false);
	kcoll_user_put(user);
}

/**
 * kcoll_payer_settle() - who pays for a region that has ended
 * @region: the region
 *
 * While a peer still maps it, that peer's user pays for what the mapping holds; otherwise its own
 * user pays on until it is free.
 */
void kcoll_payer_settle(struct kcoll_region *region)
{
	struct kcoll_user *before;

	spin_lock(&region->lock);
	before = pass_on(region);
	spin_unlock(&region->lock);
	relieve(before, region->metadata);
}

/**
 * kcoll_payer_map() - a peer maps the region
 * @region: the region, of which the mapping takes a reference of its own
 * @user: the peer's
 *
 * Return: the mapping, of one part; ERR_PTR: -ENOENT (it has ended), -EDQUOT, -ENOMEM.
 */
struct kcoll_mapping *kcoll_payer_map(struct kcoll_region *region, struct kcoll_user *user)
{
	struct kcoll_mapping *mapping;
	bool dead;

	if (!kcoll_account_metadata_fits(user))
		return ERR_PTR(-EDQUOT);
	mapping = kmalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return ERR_PTR(-ENOMEM);
	refcount_set(&mapping->parts, 1);
	mapping->region = region;
	mapping->user = user;
	spin_lock(&region->lock);
	dead = region->dead;
	if (!dead) {
		list_add(&mapping->link, &region->mappings);
		atomic_inc(&region->maps);
	}
	spin_unlock(&region->lock);
	if (dead) {
		kfree(mapping);
		return ERR_PTR(-ENOENT);
	}
	kcoll_account_metadata_force(user, MAPPING_BYTES);
	kcoll_user_get(user);
	percpu_ref_get(&region->ref);
	return mapping;
}

/**
 * kcoll_payer_unmap() - the last part of a mapping is gone
 * @mapping: the mapping
 *
 * If its user has paid for the region, another who still maps it does.
 */
void kcoll_payer_unmap(struct kcoll_mapping *mapping)
{
	struct kcoll_region *region = mapping->region;
	struct kcoll_user *before = NULL;

	spin_lock(&region->lock);
	list_del(&mapping->link);
	atomic_dec(&region->maps);
	if (region->dead)
		before = pass_on(region);
	spin_unlock(&region->lock);
	relieve(before, region->metadata);
	kcoll_account_metadata_end(mapping->user, MAPPING_BYTES, false);
	kcoll_user_put(mapping->user);
	kfree(mapping);
	kcoll_region_put(region);
}
