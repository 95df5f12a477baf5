/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_GENERATION_H
#define _KCOLL_GENERATION_H

#include <linux/list.h>
#include <linux/types.h>
#include <uapi/kcoll.h>

struct generation_page;

/* A region's place in a page of generations that its peers can map. */
struct generation {
	struct generation_page *page;
	u64 *slot;
	u32 index;
};

/* The pages of one descriptor's regions. Guarded by the descriptor's lock. */
struct generation_pool {
	struct list_head pages;
};

int generation_alloc(struct generation_pool *pool, struct generation *gen);
void generation_free(struct generation *gen);
void generation_pool_exit(struct generation_pool *pool);
struct page *generation_page(const struct generation *gen);

/* Writers are serialized by the region's lock; peers read it without any. */
static inline u64 generation_now(const struct generation *gen)
{
	return READ_ONCE(*gen->slot);
}

static inline void generation_bump(struct generation *gen)
{
	WRITE_ONCE(*gen->slot, *gen->slot + 1);
}

static inline void generation_end(struct generation *gen)
{
	WRITE_ONCE(*gen->slot, (*gen->slot + 1) | KCOLL_GEN_DEAD);
}

#endif
