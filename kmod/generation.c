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
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "account.h"
#include "generation.h"
#include "user.h"

#define SLOTS (PAGE_SIZE / sizeof(u64))

struct kcoll_generation_page {
	struct list_head link;
	struct page *page;
	struct kcoll_user *user; /* who is charged for it */
	unsigned int users;	 /* regions, plus one for the pool */
	DECLARE_BITMAP(used, SLOTS);
};

static DEFINE_SPINLOCK(slots_lock); /* guards users and used of all pages */

#define PAGE_BYTES (PAGE_SIZE + sizeof(struct kcoll_generation_page))

static struct kcoll_generation_page *page_alloc(struct kcoll_user *user)
{
	struct kcoll_generation_page *page;
	int err = kcoll_account_metadata(user, PAGE_BYTES);

	if (err)
		return ERR_PTR(err);
	page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);
	if (!page)
		goto uncharge;
	page->page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page->page)
		goto free_page;
	page->user = kcoll_user_get(user);
	page->users = 1;
	return page;

free_page:
	kfree(page);
uncharge:
	kcoll_account_metadata_end(user, PAGE_BYTES, false);
	return ERR_PTR(-ENOMEM);
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
	kcoll_account_metadata_end(page->user, PAGE_BYTES, false);
	kcoll_user_put(page->user);
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
 * @user: who is charged for another page of it, should it take one
 * @gen: out: the slot
 *
 * Context: the descriptor's lock; may sleep.
 * Return: 0, -EDQUOT, -EINTR or -ENOMEM.
 */
int kcoll_generation_alloc(struct kcoll_generation_pool *pool, struct kcoll_user *user,
			   struct kcoll_generation *gen)
{
	struct kcoll_generation_page *page;

	list_for_each_entry(page, &pool->pages, link)
		if (slot_take(page, gen))
			return 0;
	page = page_alloc(user);
	if (IS_ERR(page))
		return PTR_ERR(page);
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
