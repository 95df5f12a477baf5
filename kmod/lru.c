// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which pin set to drop first. A published set is in three lists: of all sets, for memory pressure;
 * of its user's, for shares; of its owner's, for the limit on locked memory.
 *
 * Uses only set a time stamp, so the lists are sorted when they are read: a set at the front that
 * was used since it was put in its place goes to the end, once for each quarter of a second in
 * which it was used; a set at the front that was not is the oldest, but for a second at most. So
 * choosing one costs a constant time for each use, not a walk through what is in use.
 */
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "lru.h"
#include "owner.h"
#include "pinset.h"
#include "user.h"

#define COLD_QUARTERS 4 /* unused for a second: may be dropped for others */
#define SCAN 32		/* sets that are looked at before others may have the lock */
#define ROUNDS 32	/* and how often, for one choice */

static DEFINE_SPINLOCK(sets_lock);    /* guards all lists; inside region->lock */
static unsigned long published_pages; /* of the sets in them; written under sets_lock */

struct kcoll_lru kcoll_lru_all = {
	.sets = LIST_HEAD_INIT(kcoll_lru_all.sets),
	.kind = LRU_ALL,
};

/**
 * kcoll_lru_init() - an empty list
 * @lru: the list
 * @kind: which of a set's places it uses
 */
void kcoll_lru_init(struct kcoll_lru *lru, enum kcoll_lru_kind kind)
{
	INIT_LIST_HEAD(&lru->sets);
	lru->kind = kind;
}

/**
 * kcoll_lru_add() - the set has just been published
 * @set: the pin set
 *
 * Context: region->lock.
 */
void kcoll_lru_add(struct kcoll_pinset *set)
{
	struct kcoll_owner *owner = set->region->owner;
	struct kcoll_lru *lrus[LRU_KINDS] = {
		[LRU_ALL] = &kcoll_lru_all,
		[LRU_USER] = &owner->user->lru,
		[LRU_OWNER] = &owner->lru,
	};
	unsigned int i;

	spin_lock(&sets_lock);
	for (i = 0; i < LRU_KINDS; i++) {
		set->places[i].seen = READ_ONCE(set->used);
		list_add_tail(&set->places[i].link, &lrus[i]->sets);
	}
	WRITE_ONCE(published_pages, published_pages + set->pages);
	spin_unlock(&sets_lock);
}

/**
 * kcoll_lru_remove() - the set is no longer published
 * @set: the pin set
 *
 * Context: region->lock.
 */
void kcoll_lru_remove(struct kcoll_pinset *set)
{
	unsigned int i;

	spin_lock(&sets_lock);
	for (i = 0; i < LRU_KINDS; i++)
		list_del(&set->places[i].link);
	WRITE_ONCE(published_pages, published_pages - set->pages);
	spin_unlock(&sets_lock);
}

static bool cold(const struct kcoll_pinset *set)
{
	return (u32)(jiffies / (HZ / 4)) - READ_ONCE(set->used) >= COLD_QUARTERS;
}

/* REQUIRES: sets_lock. The first in the list; NULL: it is empty. */
static struct kcoll_pinset *first_of(struct kcoll_lru *lru)
{
	struct kcoll_lru_place *place =
		list_first_entry_or_null(&lru->sets, struct kcoll_lru_place, link);

	return place ? container_of(place - lru->kind, struct kcoll_pinset, places[0]) : NULL;
}

/*
 * REQUIRES: sets_lock. Sorts at most SCAN sets; true: done, then *set is the oldest, or NULL if
 * there is none or it is not cold.
 */
static bool sort_front(struct kcoll_lru *lru, bool warm, struct kcoll_pinset **set)
{
	unsigned int scanned;

	for (scanned = 0; scanned < SCAN; scanned++) {
		struct kcoll_lru_place *place;
		u32 used;

		*set = first_of(lru);
		if (!*set || cold(*set))
			return true;
		place = &(*set)->places[lru->kind];
		used = READ_ONCE((*set)->used);
		if (used == place->seen) {
			if (!warm)
				*set = NULL;
			return true;
		}
		place->seen = used;
		list_move_tail(&place->link, &lru->sets);
	}
	*set = warm ? first_of(lru) : NULL;
	return false;
}

/* The set to drop first, with references if they are wanted; else it tells only whether. */
static struct kcoll_pinset *oldest(struct kcoll_lru *lru, bool warm, bool hold)
{
	struct kcoll_pinset *set = NULL;
	unsigned int round;
	bool done = false;

	for (round = 1; !done; round++) {
		spin_lock(&sets_lock);
		done = sort_front(lru, warm, &set) || round == ROUNDS;
		if (done && set && hold) {
			/* In the list, so published, so both are alive. */
			percpu_ref_get(&set->ref);
			percpu_ref_get(&set->region->ref);
		}
		spin_unlock(&sets_lock);
		cond_resched();
	}
	return set;
}

/**
 * kcoll_lru_oldest() - the set to drop first
 * @lru: of which
 * @warm: also one that was used within a second
 *
 * Return: the set, with references to it and its region; NULL: none.
 */
struct kcoll_pinset *kcoll_lru_oldest(struct kcoll_lru *lru, bool warm)
{
	return oldest(lru, warm, true);
}

/**
 * kcoll_lru_cold_pages() - for the shrinker: whether, and how much, it is worth its while
 *
 * Return: an upper bound of the pages of cold sets; 0: there is none.
 */
unsigned long kcoll_lru_cold_pages(void)
{
	return oldest(&kcoll_lru_all, false, false) ? READ_ONCE(published_pages) : 0;
}
