// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory pressure, of the machine or of a memory cgroup: pins give way.
 *
 * Owners are in a list of the memory cgroup that the process was in when it opened the device
 * first, which is charged for the pages that its peers pin. Whoever reclaims memory of a cgroup, or
 * of all, asks the shrinker for each one; it looks at the pin sets of the owners there, as many as
 * it is asked for, and drops those that were not used since it looked last.
 *
 * Pages become free some milliseconds after their set was dropped: it has to leave mappings, and
 * its last access has to end. Who finds nothing more to drop waits for that, lest the cgroup is
 * taken for one without anything to reclaim, and a task of it is killed; 50 ms at most each time,
 * since the task may itself hold up what it waits for.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/list_lru.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "compat.h"
#include "lru.h"
#include "owner.h"
#include "pinset.h"
#include "pressure.h"
#include "user.h"

static struct kmem_cache *owner_cache;
static struct list_lru owners; /* its locks are taken outside the lock of the pin sets' lists */
static struct shrinker *shrinker;
static bool started; /* whether the list can be read */

/* --- owners --- */

/**
 * kcoll_pressure_owner_alloc() - memory for an owner
 *
 * Context: may sleep.
 * Return: all zero; NULL: none.
 */
struct kcoll_owner *kcoll_pressure_owner_alloc(void)
{
	return kmem_cache_alloc_lru(owner_cache, &owners, GFP_KERNEL | __GFP_ZERO);
}

/**
 * kcoll_pressure_owner_free() - frees it
 * @owner: the owner
 */
void kcoll_pressure_owner_free(struct kcoll_owner *owner)
{
	kmem_cache_free(owner_cache, owner);
}

/**
 * kcoll_pressure_owner_add() - from now on its pin sets may be dropped
 * @owner: the owner
 */
void kcoll_pressure_owner_add(struct kcoll_owner *owner)
{
	owner->scarce = jiffies - 10 * HZ;
	INIT_LIST_HEAD(&owner->pressed);
	kcoll_list_lru_add(&owners, &owner->pressed);
}

/**
 * kcoll_pressure_owner_remove() - it has none any more
 * @owner: the owner
 */
void kcoll_pressure_owner_remove(struct kcoll_owner *owner)
{
	kcoll_list_lru_del(&owners, &owner->pressed);
}

/**
 * kcoll_pressure_recent() - whether memory is so scarce that sets in use were dropped just now
 * @owner: whose sets
 *
 * Pinned again at once, their pages would never be seen unpinned.
 *
 * Return: true: copies should not pin for later.
 */
bool kcoll_pressure_recent(const struct kcoll_owner *owner)
{
	return time_before(jiffies, READ_ONCE(owner->scarce) + HZ / 10);
}

/* Calls a walker for all owners of a memory cgroup; NULL: of all, where there are no cgroups. */
static void walk(struct mem_cgroup *memcg, list_lru_walk_cb walker, void *arg)
{
	int nid;

	for_each_node_state(nid, N_MEMORY) {
		unsigned long n = list_lru_count_one(&owners, nid, memcg);

		if (n)
			list_lru_walk_one(&owners, nid, memcg, walker, arg, &n);
	}
}

/* --- counting --- */

struct pages {
	unsigned long pinned;  /* published */
	unsigned long leaving; /* dropped, but still pinned */
};

static enum lru_status count_owner(struct list_head *link, struct list_lru_one *one,
				   KCOLL_LIST_LRU_LOCK void *arg)
{
	struct kcoll_owner *owner = container_of(link, struct kcoll_owner, pressed);
	struct pages *pages = arg;

	pages->pinned += READ_ONCE(owner->lru.pages);
	pages->leaving += max(0L, atomic_long_read(&owner->dropped_pages));
	return LRU_SKIP;
}

static struct pages count_pages(struct mem_cgroup *memcg)
{
	struct pages pages = {};

	walk(memcg, count_owner, &pages);
	return pages;
}

static unsigned long shrink_count(struct shrinker *unused, struct shrink_control *sc)
{
	struct pages pages;

	/* Acquire: pairs with the release in kcoll_pressure_start(), after the list is made. */
	if (!smp_load_acquire(&started))
		return 0;
	pages = count_pages(sc->memcg);
	return pages.pinned + pages.leaving;
}

/* --- dropping --- */

struct look {
	unsigned long budget; /* pages to look at */
	unsigned long looked;
	struct kcoll_pinset *found;
};

/* The owners take turns: one that was looked at goes to the end. */
static enum lru_status look_at_owner(struct list_head *link, struct list_lru_one *one,
				     KCOLL_LIST_LRU_LOCK void *arg)
{
	struct kcoll_owner *owner = container_of(link, struct kcoll_owner, pressed);
	struct look *look = arg;
	unsigned long looked;

	if (look->found || look->looked >= look->budget)
		return LRU_SKIP;
	look->found = kcoll_lru_look(&owner->lru, look->budget - look->looked, &looked);
	look->looked += looked;
	if (look->found && !kcoll_lru_cold(look->found))
		WRITE_ONCE(owner->scarce, jiffies);
	return LRU_ROTATE;
}

/* Looks at so many pages of sets; returns how many were looked at, and drops some of them. */
static unsigned long drop_some(struct mem_cgroup *memcg, unsigned long budget,
			       unsigned long *dropped)
{
	struct look look = { .budget = budget };
	unsigned long before;

	do {
		before = look.looked;
		look.found = NULL;
		walk(memcg, look_at_owner, &look);
		if (look.found)
			*dropped += kcoll_pinset_drop_held(look.found);
		cond_resched();
	} while (look.looked > before && look.looked < budget);
	return look.looked;
}

/* Whether the task may sleep, and is none that pages have to wait for on their way out. */
static bool may_wait(const struct shrink_control *sc)
{
	return gfpflags_allow_blocking(sc->gfp_mask) && sc->gfp_mask & __GFP_FS &&
	       !(current->flags & (PF_KSWAPD | PF_WQ_WORKER | PF_EXITING));
}

static void wait_for_leaving(struct mem_cgroup *memcg)
{
	unsigned long leaving = count_pages(memcg).leaving;

	if (leaving)
		wait_event_killable_timeout(kcoll_pinset_room, count_pages(memcg).leaving < leaving,
					    HZ / 20);
}

static unsigned long shrink_scan(struct shrinker *unused, struct shrink_control *sc)
{
	unsigned long dropped = 0;
	unsigned long looked = drop_some(sc->memcg, sc->nr_to_scan, &dropped);

	/* What is waiting for its delay is room too. */
	kcoll_user_unpin_now_all();
	if (!looked) {
		if (may_wait(sc))
			wait_for_leaving(sc->memcg);
		return SHRINK_STOP;
	}
	sc->nr_scanned = looked;
	return dropped;
}

/**
 * kcoll_pressure_start() - registers the shrinker
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int kcoll_pressure_start(void)
{
	owner_cache = KMEM_CACHE(kcoll_owner, SLAB_ACCOUNT);
	if (!owner_cache)
		return -ENOMEM;
	shrinker = kcoll_shrinker_start("kcoll", shrink_count, shrink_scan, &owners);
	if (IS_ERR(shrinker)) {
		kmem_cache_destroy(owner_cache);
		return PTR_ERR(shrinker);
	}
	smp_store_release(&started, true); /* pairs with the acquire in shrink_count() */
	return 0;
}

/**
 * kcoll_pressure_stop() - the opposite; no owner is left
 *
 * Context: may sleep.
 */
void kcoll_pressure_stop(void)
{
	kcoll_shrinker_stop(shrinker);
	list_lru_destroy(&owners);
	kmem_cache_destroy(owner_cache);
}
