// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who pays for a region's kernel memory: its owner's user as long as it is alive, afterwards those
 * who still map it.
 */
#include "account.h"
#include "owner.h"
#include "payer.h"
#include "region.h"
#include "user.h"

/**
 * kcoll_payer_done() - none pays for it any more: its memory is free
 * @region: the region
 */
void kcoll_payer_done(struct kcoll_region *region)
{
	if (region->payer)
		kcoll_account_metadata_end(region->payer, region->metadata, region->ending);
	if (region->mapper)
		kcoll_user_put(region->mapper);
}

/* REQUIRES: region->lock. The region has ended: only what is in progress holds it. */
static void mark_ending(struct kcoll_region *region)
{
	if (region->ending)
		return;
	kcoll_account_metadata_ending(region->payer, region->metadata);
	region->ending = true;
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
	struct kcoll_user *user = region->owner->user;
	bool passed;

	spin_lock(&region->lock);
	passed = atomic_read(&region->maps) && region->mapper != user;
	if (passed) {
		kcoll_account_metadata_force(region->mapper, region->metadata);
		region->payer = region->mapper;
	}
	if (!atomic_read(&region->maps))
		mark_ending(region);
	spin_unlock(&region->lock);
	if (passed)
		kcoll_account_metadata_end(user, region->metadata, false);
}

/**
 * kcoll_payer_map() - a peer maps the region
 * @region: the region
 * @user: the peer's
 *
 * Return: 0; -ENOENT: it has ended.
 */
int kcoll_payer_map(struct kcoll_region *region, struct kcoll_user *user)
{
	struct kcoll_user *before = NULL;
	int err = 0;

	spin_lock(&region->lock);
	if (region->dead) {
		err = -ENOENT;
	} else {
		atomic_inc(&region->maps);
		before = region->mapper;
		region->mapper = kcoll_user_get(user);
	}
	spin_unlock(&region->lock);
	if (before)
		kcoll_user_put(before);
	return err;
}

/**
 * kcoll_payer_unmap() - a mapping, or a part of one, is gone
 * @region: the region
 */
void kcoll_payer_unmap(struct kcoll_region *region)
{
	if (!atomic_dec_and_test(&region->maps))
		return;
	spin_lock(&region->lock);
	if (region->dead && region->payer)
		mark_ending(region);
	spin_unlock(&region->lock);
}
