// SPDX-License-Identifier: GPL-2.0-only
/*
 * A memory-cgroup-aware shrinker, which drops pin sets when memory is reclaimed.
 *
 * Each owner is in the list_lru of the memory cgroup in which its process first opened the device;
 * that cgroup is charged for the pages that peers pin. Reclaim of a cgroup, or of the whole
 * machine, calls the shrinker for each cgroup. The shrinker scans as many pages of pin sets as it
 * is asked for, in turn over the owners, and drops each set that was not used since its last scan
 * (second chance, as for the kernel's own pages).
 *
 * A dropped set is unpinned asynchronously, some milliseconds later: mappings have to be zapped and
 * the last access has to end. If reclaim finds no set to drop but some are still being unpinned, it
 * waits for them; otherwise the cgroup would seem to have nothing reclaimable, and the OOM killer
 * would run. It waits only for cgroups that are at their limit: reclaim of the whole machine scans
 * all cgroups, and those of one user must not delay another user's. The wait is at most 50 ms per
 * call, because the reclaiming task may itself hold a reference to a set, and 400 ms per task and
 * second, because a user may have many cgroups at their limit.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/sizes.h>
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
 * kcoll_pressure_owner_add() - adds an owner to the list of its memory cgroup
 * @owner: the owner
 */
void kcoll_pressure_owner_add(struct kcoll_owner *owner)
{
	owner->scarce = jiffies - 10 * HZ;
	INIT_LIST_HEAD(&owner->pressed);
	kcoll_list_lru_add(&owners, &owner->pressed);
}

/**
 * kcoll_pressure_owner_remove() - removes an owner, which has no pin set left
 * @owner: the owner
 */
void kcoll_pressure_owner_remove(struct kcoll_owner *owner)
{
	kcoll_list_lru_del(&owners, &owner->pressed);
}

/**
 * kcoll_pressure_recent() - whether reclaim dropped a set in use within the last 100 ms
 * @owner: the owner of the set
 *
 * If its pages were pinned again at once, reclaim would never find them without a pin.
 *
 * Return: true: copies should not publish pins, and faults should pin few pages.
 */
bool kcoll_pressure_recent(const struct kcoll_owner *owner)
{
	return time_before(jiffies, READ_ONCE(owner->scarce) + HZ / 10);
}

/* Calls a walker for each owner of a memory cgroup; NULL: for all owners, without cgroups. */
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
	unsigned long leaving; /* dropped, not yet unpinned */
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

struct scan {
	unsigned long budget; /* pages to scan */
	unsigned long scanned;
	struct kcoll_pinset *found;
};

/* Owners take turns: a scanned owner moves to the tail. */
static enum lru_status scan_owner(struct list_head *link, struct list_lru_one *one,
				  KCOLL_LIST_LRU_LOCK void *arg)
{
	struct kcoll_owner *owner = container_of(link, struct kcoll_owner, pressed);
	struct scan *scan = arg;
	unsigned long scanned;

	if (scan->found || scan->scanned >= scan->budget)
		return LRU_SKIP;
	scan->found = kcoll_lru_scan(&owner->lru, scan->budget - scan->scanned, &scanned);
	scan->scanned += scanned;
	if (scan->found && !kcoll_lru_cold(scan->found))
		WRITE_ONCE(owner->scarce, jiffies);
	return LRU_ROTATE;
}

/* Scans pin sets of `budget` pages; returns the pages scanned, adds those dropped to *dropped. */
static unsigned long drop_some(struct mem_cgroup *memcg, unsigned long budget,
			       unsigned long *dropped)
{
	struct scan scan = { .budget = budget };
	unsigned long before;

	do {
		before = scan.scanned;
		scan.found = NULL;
		walk(memcg, scan_owner, &scan);
		if (scan.found)
			*dropped += kcoll_pinset_drop_held(scan.found);
		cond_resched();
	} while (scan.scanned > before && scan.scanned < budget);
	return scan.scanned;
}

static enum lru_status unpin_owner(struct list_head *link, struct list_lru_one *one,
				   KCOLL_LIST_LRU_LOCK void *arg)
{
	struct kcoll_owner *owner = container_of(link, struct kcoll_owner, pressed);

	kcoll_dying_unpin_now(&owner->user->dying);
	return LRU_SKIP;
}

#define MARGIN (SZ_4M >> PAGE_SHIFT) /* more than one charge, which may be of a huge page */

#ifdef CONFIG_MEMCG
/* Whether a charge to the cgroup may fail now; that of the root cgroup fails with the machine. */
static bool at_limit(struct mem_cgroup *memcg)
{
	struct mem_cgroup *above;

	if (!memcg || !parent_mem_cgroup(memcg))
		return true;
	for (; memcg; memcg = above) {
		above = parent_mem_cgroup(memcg);
		if (above &&
		    page_counter_read(&memcg->memory) + MARGIN >= READ_ONCE(memcg->memory.max))
			return true;
	}
	return false;
}
#else
static bool at_limit(struct mem_cgroup *memcg)
{
	return true;
}
#endif

#define WAIT (HZ / 20)		    /* at most, at once */
#define WAIT_IN_SECOND (HZ * 2 / 5) /* at most, of one task */

/*
 * How long tasks have waited within a second. Tasks share an entry by chance and overwrite each
 * other's: such a task may wait longer.
 */
static struct waits {
	const struct task_struct *task;
	unsigned long since, waited; /* jiffies */
} waits[256];
static DEFINE_SPINLOCK(waits_lock);

/* Notes that the task is about to wait; false: it has waited long enough. */
static bool begin_wait(void)
{
	struct waits *own = &waits[hash_ptr(current, 8)];
	bool may;

	spin_lock(&waits_lock);
	if (own->task != current || time_after(jiffies, own->since + HZ)) {
		own->task = current;
		own->since = jiffies;
		own->waited = 0;
	}
	may = own->waited < WAIT_IN_SECOND;
	spin_unlock(&waits_lock);
	return may;
}

static void end_wait(unsigned long time)
{
	struct waits *own = &waits[hash_ptr(current, 8)];

	spin_lock(&waits_lock);
	if (own->task == current)
		own->waited += time;
	spin_unlock(&waits_lock);
}

/* Whether the task may sleep, and unpinning does not depend on it. */
static bool may_wait(const struct shrink_control *sc)
{
	return gfpflags_allow_blocking(sc->gfp_mask) && sc->gfp_mask & __GFP_FS &&
	       !(current->flags & (PF_KSWAPD | PF_WQ_WORKER | PF_EXITING));
}

static void wait_for_leaving(struct mem_cgroup *memcg)
{
	unsigned long leaving = count_pages(memcg).leaving, begin = jiffies;

	if (!leaving || !at_limit(memcg) || !begin_wait())
		return;
	wait_event_killable_timeout(kcoll_pinset_room, count_pages(memcg).leaving < leaving, WAIT);
	end_wait(jiffies - begin);
}

static unsigned long shrink_scan(struct shrinker *unused, struct shrink_control *sc)
{
	unsigned long dropped = 0;
	unsigned long scanned = drop_some(sc->memcg, sc->nr_to_scan, &dropped);

	walk(sc->memcg, unpin_owner, NULL); /* ends unpin_delay_ms for dropped sets */
	if (!scanned) {
		if (may_wait(sc))
			wait_for_leaving(sc->memcg);
		return SHRINK_STOP;
	}
	sc->nr_scanned = scanned;
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
