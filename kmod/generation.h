/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_GENERATION_H
#define _KCOLL_GENERATION_H

#include <linux/list.h>
#include <linux/types.h>
#include <uapi/kcoll.h>

struct kcoll_generation_page;
struct kcoll_user;

/* A region's place in a page of generations that its peers can map. */
struct kcoll_generation {
	struct kcoll_generation_page *page;
	u64 *slot;
	u32 index;
};

/* The pages of one descriptor's regions. Guarded by the descriptor's lock. */
struct kcoll_generation_pool {
	struct list_head pages;
};

int kcoll_generation_alloc(struct kcoll_generation_pool *pool, struct kcoll_user *user,
			   struct kcoll_generation *gen);
void kcoll_generation_free(struct kcoll_generation *gen);
void kcoll_generation_pool_exit(struct kcoll_generation_pool *pool);
struct page *kcoll_generation_page(const struct kcoll_generation *gen);

/**
 * generation_now() - the generation of a region
 * @gen: its place
 *
 * Writers are serialized by the region's lock; peers read it without any.
 *
 * Return: the generation, perhaps with KCOLL_GEN_DEAD.
 */
static inline u64 generation_now(const struct kcoll_generation *gen)
{
	return READ_ONCE(*gen->slot);
}

/**
 * generation_bump() - begins the next generation
 * @gen: the region's place
 *
 * Context: region->lock.
 */
static inline void generation_bump(struct kcoll_generation *gen)
{
	WRITE_ONCE(*gen->slot, *gen->slot + 1);
}

/**
 * generation_end() - ends the last generation: the region is dead
 * @gen: the region's place
 *
 * Context: region->lock.
 */
static inline void generation_end(struct kcoll_generation *gen)
{
	WRITE_ONCE(*gen->slot, (*gen->slot + 1) | KCOLL_GEN_DEAD);
}

#endif
