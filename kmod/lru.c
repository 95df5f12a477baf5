// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which pin set to drop first. A published set is in two lists: of its user's, for shares; of its
 * owner's, for the limit on locked memory and for memory pressure.
 *
 * Uses only set a time stamp, so the lists are sorted when they are read: a set at the front that
 * was used since it was put in its place goes to the end, once for each quarter of a second in
 * which it was used; a set at the front that was not is the oldest, but for a second at most. So
 * choosing one costs a constant time for each use, not a walk through what is in use.
 *
 * The shrinker (pressure.c) ignores how long ago a set was used. It scans the sets in turn and
 * drops each one that was not used since its last scan, so the scan rate, which grows with the need
 * for memory, decides which sets count as unused.
 */
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "lru.h"
#include "owner.h"
#include "pinset.h"
#include "user.h"

#define COLD_QUARTERS 4 /* unused for a second: may be dropped for others */
#define SCAN 32		/* sets that are scanned before others may have the lock */
#define ROUNDS 32	/* and how often, for one choice */

static DEFINE_SPINLOCK(sets_lock); /* guards all lists; inside region->lock */

/**
 * kcoll_lru_init() - an empty list
 * @lru: the list
 * @kind: which of a set's places it uses
 */
void kcoll_lru_init(struct kcoll_lru *lru, enum kcoll_lru_kind kind)
{
	INIT_LIST_HEAD(&lru->sets);
	lru->pages = 0;
	lru->kind = kind;
}

/* The list that has a set in its place of that kind. */
static struct kcoll_lru *lru_of(const struct kcoll_pinset *set, enum kcoll_lru_kind kind)
{
	struct kcoll_owner *owner = set->region->owner;

	return kind == LRU_USER ? &owner->user->lru : &owner->lru;
}

/**
 * kcoll_lru_add() - the set has just been published
 * @set: the pin set
 *
 * Context: region->lock.
 */
void kcoll_lru_add(struct kcoll_pinset *set)
{
	unsigned int i;

	spin_lock(&sets_lock);
	for (i = 0; i < LRU_KINDS; i++) {
		struct kcoll_lru *lru = lru_of(set, i);

		set->places[i].seen = READ_ONCE(set->used);
		list_add_tail(&set->places[i].link, &lru->sets);
		WRITE_ONCE(lru->pages, lru->pages + set->pages);
	}
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
	for (i = 0; i < LRU_KINDS; i++) {
		struct kcoll_lru *lru = lru_of(set, i);

		list_del(&set->places[i].link);
		WRITE_ONCE(lru->pages, lru->pages - set->pages);
	}
	spin_unlock(&sets_lock);
}

/**
 * kcoll_lru_cold() - whether a set was not used for a second
 * @set: the pin set
 *
 * Return: whether.
 */
bool kcoll_lru_cold(const struct kcoll_pinset *set)
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
		if (!*set || kcoll_lru_cold(*set))
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

/* REQUIRES: sets_lock. In a list, so published: it and its region are alive. */
static struct kcoll_pinset *hold(struct kcoll_pinset *set)
{
	percpu_ref_get(&set->ref);
	percpu_ref_get(&set->region->ref);
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
	struct kcoll_pinset *set = NULL;
	unsigned int round;
	bool done = false;

	for (round = 1; !done; round++) {
		spin_lock(&sets_lock);
		done = sort_front(lru, warm, &set) || round == ROUNDS;
		if (done && set)
			hold(set);
		spin_unlock(&sets_lock);
		cond_resched();
	}
	return set;
}

/**
 * kcoll_lru_scan() - finds a set that was not used since its last scan, for the shrinker
 * @lru: the list
 * @pages: how many pages of sets to scan; at most SCAN sets
 * @scanned: out: pages of the scanned sets; 0: the list is empty
 *
 * Scanned sets move to the end of the list.
 *
 * Return: the set, with references to it and its region; NULL: all scanned sets were used.
 */
struct kcoll_pinset *kcoll_lru_scan(struct kcoll_lru *lru, unsigned long pages,
				    unsigned long *scanned)
{
	struct kcoll_pinset *set, *found = NULL;
	unsigned int n;

	*scanned = 0;
	spin_lock(&sets_lock);
	for (n = 0; n < SCAN && *scanned < pages && !found; n++) {
		struct kcoll_lru_place *place;
		u32 used;

		set = first_of(lru);
		if (!set)
			break;
		*scanned += set->pages;
		place = &set->places[lru->kind];
		used = READ_ONCE(set->used);
		if (used == place->seen)
			found = hold(set);
		place->seen = used;
		list_move_tail(&place->link, &lru->sets);
	}
	spin_unlock(&sets_lock);
	return found;
}
