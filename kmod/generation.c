// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generations: one counter per region, in pages that peers may map.
 *
 * A slot never returns to a value that it had, even when another region takes it over, so that a
 * peer that holds an old value always notices. Pages belong to the descriptor that registers, so
 * that peers see the generations of that owner only. A page lives until its last region, and its
 * pool, are gone.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "generation.h"

#define SLOTS (PAGE_SIZE / sizeof(u64))

struct kcoll_generation_page {
	struct list_head link;
	struct page *page;
	unsigned int users; /* regions, plus one for the pool */
	DECLARE_BITMAP(used, SLOTS);
};

static DEFINE_SPINLOCK(slots_lock); /* guards users and used of all pages */

static struct kcoll_generation_page *page_alloc(void)
{
	struct kcoll_generation_page *page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);

	if (!page)
		return NULL;
	page->page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page->page) {
		kfree(page);
		return NULL;
	}
	page->users = 1;
	return page;
}

static void page_put(struct kcoll_generation_page *page)
{
	bool last;

	spin_lock(&slots_lock);
	last = !--page->users;
	spin_unlock(&slots_lock);
	if (!last)
		return;
	__free_page(page->page); /* peers' mappings hold references of their own */
	kfree(page);
}

static bool slot_take(struct kcoll_generation_page *page, struct kcoll_generation *gen)
{
	unsigned long index;

	spin_lock(&slots_lock);
	index = find_first_zero_bit(page->used, SLOTS);
	if (index < SLOTS) {
		__set_bit(index, page->used);
		page->users++;
	}
	spin_unlock(&slots_lock);
	if (index >= SLOTS)
		return false;
	gen->page = page;
	gen->index = index;
	gen->slot = (u64 *)page_address(page->page) + index;
	WRITE_ONCE(*gen->slot, (*gen->slot & ~KCOLL_GEN_DEAD) + 1);
	return true;
}

/**
 * kcoll_generation_alloc() - gives a region its slot
 * @pool: the pool
 * @gen: out: the slot
 *
 * Context: the descriptor's lock.
 * Return: 0 or -ENOMEM.
 */
int kcoll_generation_alloc(struct kcoll_generation_pool *pool, struct kcoll_generation *gen)
{
	struct kcoll_generation_page *page;

	list_for_each_entry(page, &pool->pages, link)
		if (slot_take(page, gen))
			return 0;
	page = page_alloc();
	if (!page)
		return -ENOMEM;
	list_add(&page->link, &pool->pages);
	slot_take(page, gen);
	return 0;
}

/**
 * kcoll_generation_free() - gives the slot back
 * @gen: the generation
 */
void kcoll_generation_free(struct kcoll_generation *gen)
{
	spin_lock(&slots_lock);
	__clear_bit(gen->index, gen->page->used);
	spin_unlock(&slots_lock);
	page_put(gen->page);
}

/**
 * kcoll_generation_pool_exit() - the descriptor is closed; pages of live regions stay
 * @pool: the pool
 */
void kcoll_generation_pool_exit(struct kcoll_generation_pool *pool)
{
	struct kcoll_generation_page *page, *next;

	list_for_each_entry_safe(page, next, &pool->pages, link) {
		list_del(&page->link);
		page_put(page);
	}
}

/**
 * kcoll_generation_page() - the page for peers to map
 * @gen: the generation
 *
 * Return: the page; valid as long as the generation.
 */
struct page *kcoll_generation_page(const struct kcoll_generation *gen)
{
	return gen->page->page;
}
