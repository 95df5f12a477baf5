// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions: made by REGISTER, found by cookie, ended by UNREGISTER or with the owner's descriptor.
 *
 * References: every command in progress, every queued work item, every mapping and every pin set
 * holds one (region->ref, per CPU, so that copies write no shared line). kcoll_region_kill() makes
 * lookups fail, unpublishes everything, removes its notifiers and drops the first reference; the
 * last one frees the region from a work item, because freeing sleeps.
 *
 * Locking order, outermost first. Nothing on a higher line is taken while holding something on a
 * lower one:
 *
 *   context->lock                              a descriptor's list of regions
 *   slot->lock                                 single flight of a miss
 *   gate                                       a place to pin
 *   mmap_lock of the owner                     pinning
 *   region->map_sem                            (a peer's fault: below the peer's mmap_lock)
 *   i_mmap_rwsem, page table locks             zapping, inserting
 *   region->lock                               (also in invalidations, below any lock of mm)
 *   a list of owners by memory cgroup          (pressure.c)
 *   sets_lock | users_lock | gate->lock | the lock of region->sets
 *   dying->lock                                (also below users_lock and the list of owners)
 *
 * Outside of these, each held for a few steps and with nothing allocated: owners_lock, users'
 * table_lock outside users_lock, domains_lock outside domain->lock (for the files in debugfs over a
 * walk of all regions), attach_lock (in mmap()), and slots_lock of the generations.
 *
 * A fault drops the peer's mmap_lock before it takes a slot->lock. No task sleeps holding
 * region->lock. Only UNREGISTER waits for a pin set's last user; it holds no lock then
 * and can be killed.
 *
 * Invariants:
 *   1. A window publishes a set only under region->lock, while the region is not dead, and after
 *      mmu_interval_read_retry() has said that no invalidation ran since before its pages were
 *      looked up.
 *   2. So after an invalidation has returned to the memory manager, no lookup finds pages from
 *      before it.
 *   3. A set's pages stay pinned until all who hold its reference are done and no mapping shows
 *      them.
 */
#include <linux/cred.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/log2.h>
#include <linux/user_namespace.h>

#include "account.h"
#include "device.h"
#include "domain.h"
#include "map.h"
#include "notify.h"
#include "params.h"
#include "payer.h"
#include "pinset.h"
#include "region.h"
#include "stats.h"
#include "trace.h"
#include "user.h"

static atomic_t alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(none_alive);

/**
 * kcoll_region_count() - regions that are alive, or not free yet
 *
 * Return: their number.
 */
int kcoll_region_count(void)
{
	return atomic_read(&alive);
}

/**
 * kcoll_region_wait_none() - module exit: until no region is left
 */
void kcoll_region_wait_none(void)
{
	while (!wait_event_timeout(none_alive, !atomic_read(&alive), HZ / 10))
		kcoll_user_unpin_now_all();
}

static void uncount(struct kcoll_owner *owner, u32 ranges)
{
	atomic_sub(ranges, &owner->ranges);
	atomic_dec(&owner->regions);
}

/* -EDQUOT: max_regions, max_ranges. */
static int count(struct kcoll_owner *owner, u32 ranges)
{
	bool fits = atomic_inc_return(&owner->regions) <= READ_ONCE(kcoll_param_max_regions);

	fits &= atomic_add_return(ranges, &owner->ranges) <= READ_ONCE(kcoll_param_max_ranges);
	if (fits)
		return 0;
	uncount(owner, ranges);
	return -EDQUOT;
}

static void region_free(struct kcoll_region *region)
{
	struct kcoll_user *payer = region->payer;
	size_t metadata = region->metadata;
	bool ending = region->ending;

	if (region->gen.page)
		kcoll_generation_free(&region->gen);
	percpu_ref_exit(&region->ref);
	ida_free(&region->domain->indices, region->map_index);
	kcoll_domain_put(region->domain);
	kcoll_owner_put(region->owner);
	put_user_ns(region->userns);
	xa_destroy(&region->sets);
	kvfree(region->watches);
	kvfree(region->sorted);
	kvfree(region->slots);
	kvfree(region->segments);
	if (region->blank)
		__free_page(region->blank);
	/* No grace period: percpu_ref_kill() waited for one after the last lookup could start. */
	kfree(region);
	if (atomic_dec_and_test(&alive))
		wake_up(&none_alive); /* the exit waits for the rest with the workqueue */
	/* Last: who waits for room finds all of it free. */
	kcoll_payer_done(payer, metadata, ending);
}

static void region_free_work(struct work_struct *work)
{
	region_free(container_of(work, struct kcoll_region, free_work));
}

static void region_released(struct percpu_ref *ref)
{
	struct kcoll_region *region = container_of(ref, struct kcoll_region, ref);

	queue_work(kcoll_wq, &region->free_work);
}

/**
 * kcoll_region_put() - gives a reference back
 * @region: the region
 */
void kcoll_region_put(struct kcoll_region *region)
{
	percpu_ref_put(&region->ref);
}

/* Lays the ranges out one after another. -EINVAL: empty, wraps, or too long together. */
static int lay_out(struct kcoll_region *region, const struct kcoll_range *ranges, u32 n,
		   unsigned long *windows)
{
	bool aligned = true;
	u32 i;

	*windows = 0;
	for (i = 0; i < n; i++) {
		struct kcoll_segment *segment = &region->segments[i];
		u64 end;

		if (!ranges[i].len || check_add_overflow(ranges[i].addr, ranges[i].len, &end) ||
		    end > TASK_SIZE || ranges[i].len > MAP_MAX_BYTES - region->len)
			return -EINVAL;
		segment->region = region;
		segment->start = ranges[i].addr;
		segment->end = end;
		segment->offset = region->len;
		segment->first = *windows;
		segment->n = ((end - 1) >> WINDOW_SHIFT) - (segment->start >> WINDOW_SHIFT) + 1;
		*windows += segment->n;
		region->len += ranges[i].len;
		aligned &= PAGE_ALIGNED(segment->start) && PAGE_ALIGNED(end);
	}
	region->mappable = aligned && (region->direction & KCOLL_READ);
	return 0;
}

static int alloc_parts(struct kcoll_region *region, u32 n)
{
	region->segments = kvcalloc(n, sizeof(*region->segments), GFP_KERNEL_ACCOUNT);
	region->sorted = kvcalloc(n, sizeof(*region->sorted), GFP_KERNEL_ACCOUNT);
	region->watches = kvcalloc(n, sizeof(*region->watches), GFP_KERNEL_ACCOUNT);
	return region->segments && region->sorted && region->watches ? 0 : -ENOMEM;
}

static void free_parts(struct kcoll_region *region)
{
	kvfree(region->watches);
	kvfree(region->sorted);
	kvfree(region->segments);
	kfree(region);
}

static struct kcoll_region *region_new(struct kcoll_context *ctx, struct kcoll_domain *domain,
				       u32 n, u32 flags, u32 gate_limit)
{
	struct kcoll_region *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	int index;

	if (!region)
		return NULL;
	if (alloc_parts(region, n))
		goto free_region;
	if (percpu_ref_init(&region->ref, region_released, 0, GFP_KERNEL_ACCOUNT))
		goto free_region;
	index = ida_alloc_range(&domain->indices, 1, MAP_MAX_INDEX, GFP_KERNEL_ACCOUNT);
	if (index < 0)
		goto exit_ref;
	region->map_index = index;
	atomic_inc(&alive);
	INIT_LIST_HEAD(&region->link);
	INIT_LIST_HEAD(&region->dropped);
	INIT_LIST_HEAD(&region->mappings);
	spin_lock_init(&region->lock);
	init_rwsem(&region->map_sem);
	init_waitqueue_head(&region->wait);
	xa_init_flags(&region->sets, XA_FLAGS_ACCOUNT);
	INIT_WORK(&region->zap_work, kcoll_map_zap_work);
	INIT_WORK(&region->free_work, region_free_work);
	region->nsegments = n;
	region->direction = flags & (KCOLL_READ | KCOLL_WRITE);
	region->gate_limit = gate_limit;
	region->euid = current_euid();
	region->userns = get_user_ns(current_user_ns());
	region->domain = kcoll_domain_get(domain);
	region->owner = kcoll_owner_get(ctx->owner);
	return region;

exit_ref:
	percpu_ref_exit(&region->ref);
free_region:
	free_parts(region);
	return NULL;
}

/*
 * What a region of so many ranges takes, whatever is pinned in it: with the page that quiet
 * mappings may need, so that who maps it charges its owner nothing.
 */
static size_t metadata_bytes(u32 n, u32 slots, bool mappable)
{
	return (mappable ? PAGE_SIZE : 0) + sizeof(struct kcoll_region) +
	       nr_cpu_ids * sizeof(unsigned long) +
	       2 * sizeof(void *) + /* its place in the domain's table */
	       slots * sizeof(struct kcoll_slot) +
	       n * (sizeof(struct kcoll_segment) + sizeof(struct kcoll_segment *) +
		    sizeof(struct kcoll_watch));
}

/* The region's tables, charged to its user. */
static int furnish(struct kcoll_region *region, struct kcoll_context *ctx,
		   const struct kcoll_range *ranges, u32 n)
{
	unsigned long windows;
	u32 i;
	int err;

	err = lay_out(region, ranges, n, &windows);
	if (err)
		return err;
	region->nslots = roundup_pow_of_two(min_t(unsigned long, windows, MAX_SLOTS));
	region->metadata = metadata_bytes(n, region->nslots, region->mappable);
	err = kcoll_payer_start(region, ctx->owner->user);
	if (err)
		return err;
	err = kcoll_generation_alloc(&ctx->generations, ctx->owner->user, &region->gen);
	if (err)
		return err;
	region->slots = kvcalloc(region->nslots, sizeof(*region->slots), GFP_KERNEL_ACCOUNT);
	if (!region->slots)
		return -ENOMEM;
	for (i = 0; i < region->nslots; i++) {
		mutex_init(&region->slots[i].lock);
		region->slots[i].window = ULONG_MAX;
		region->slots[i].missed = ULONG_MAX;
	}
	return kcoll_notify_start(region);
}

/**
 * kcoll_region_create() - makes a region
 * @ctx: the descriptor
 * @domain: where it will be found
 * @ranges: its memory
 * @n: how many ranges
 * @flags: KCOLL_READ, KCOLL_WRITE
 * @gate_limit: most tasks that pin in it at once; 0: the module decides
 *
 * Context: ctx->lock; current->mm is the owner's.
 * Return: the region, in no list yet; ERR_PTR: -EDQUOT (a limit), -EINVAL, -ENOMEM, -EINTR.
 */
struct kcoll_region *kcoll_region_create(struct kcoll_context *ctx, struct kcoll_domain *domain,
					 const struct kcoll_range *ranges, u32 n, u32 flags,
					 u32 gate_limit)
{
	struct kcoll_owner *owner = ctx->owner;
	struct kcoll_region *region;
	int err;

	kcoll_account_note_limit(owner);
	err = count(owner, n);
	if (err)
		return ERR_PTR(err);
	region = region_new(ctx, domain, n, flags, gate_limit);
	if (!region) {
		uncount(owner, n);
		return ERR_PTR(-ENOMEM);
	}
	err = furnish(region, ctx, ranges, n);
	err = err ?: kcoll_domain_publish(region);
	if (err) {
		kcoll_notify_stop(region);
		uncount(owner, n);
		region_free(region);
		return ERR_PTR(err);
	}
	trace_kcoll_reg(region->cookie, region->len, n, flags);
	return region;
}

/*
 * Same user, same namespace; another only if the administrator says so and both know the key of the
 * domain.
 */
static int access_check(const struct kcoll_region *region, u32 direction)
{
	if ((region->direction & direction) != direction)
		return -EACCES;
	if (likely(uid_eq(region->euid, current_euid()) && region->userns == current_user_ns()))
		return 0;
	if (region->domain->name.keyed && READ_ONCE(kcoll_param_cross_userns))
		return 0;
	return -EACCES;
}

/**
 * kcoll_region_get() - finds a region of the caller's domain, for one command
 * @ctx: the descriptor
 * @cookie: names the region
 * @direction: KCOLL_READ, KCOLL_WRITE, both or none: what must be allowed
 *
 * Return: the region, with a reference; ERR_PTR(-ENOENT) or ERR_PTR(-EACCES).
 */
struct kcoll_region *kcoll_region_get(struct kcoll_context *ctx, u64 cookie, u32 direction)
{
	struct kcoll_domain *domain = READ_ONCE(ctx->domain);
	struct kcoll_region *region;
	int err = -ENOENT;

	if (!domain)
		return ERR_PTR(-ENOENT);
	rcu_read_lock();
	region = domain_find(domain, cookie);
	if (region) {
		err = access_check(region, direction);
		if (!err && !percpu_ref_tryget_live_rcu(&region->ref))
			err = -ENOENT;
	}
	rcu_read_unlock();
	return err ? ERR_PTR(err) : region;
}

/**
 * kcoll_region_get_index() - kcoll_region_get() for an attachment
 * @ctx: the descriptor
 * @index: which must still be the region's
 * @cookie: which the attachment remembers
 *
 * Return: as kcoll_region_get().
 */
struct kcoll_region *kcoll_region_get_index(struct kcoll_context *ctx, u32 index, u64 cookie)
{
	struct kcoll_region *region = kcoll_region_get(ctx, cookie, 0);

	if (!IS_ERR(region) && region->map_index != index) {
		kcoll_region_put(region);
		return ERR_PTR(-ENOENT);
	}
	return region;
}

/**
 * kcoll_region_segment() - the range that an offset lies in
 * @region: the region
 * @offset: less than region->len
 *
 * Return: the range.
 */
struct kcoll_segment *kcoll_region_segment(struct kcoll_region *region, u64 offset)
{
	u32 low = 0, high = region->nsegments;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (region->segments[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &region->segments[low];
}

/**
 * kcoll_region_kill() - ends a region
 * @region: the region
 *
 * No look-up finds it any more, and nothing of it stays published. A user whose process still maps
 * it is charged for it from now on.
 *
 * Context: the caller has taken it off its list; may sleep.
 */
void kcoll_region_kill(struct kcoll_region *region)
{
	kcoll_domain_unpublish(region);
	spin_lock(&region->lock);
	WRITE_ONCE(region->dead, true);
	generation_end(&region->gen);
	spin_unlock(&region->lock);
	kcoll_pinset_drop_all(region);
	kcoll_notify_stop(region);
	uncount(region->owner, region->nsegments);
	kcoll_payer_settle(region);
	trace_kcoll_unreg(region->cookie, region->len);
	percpu_ref_kill(&region->ref);
}

static bool idle(struct kcoll_region *region)
{
	bool idle;

	spin_lock(&region->lock);
	idle = region->zaps == region->drops && !region->live && !region->uncached;
	spin_unlock(&region->lock);
	return idle;
}

/**
 * kcoll_region_wait_idle() - until nothing touches the memory of a region that has ended
 * @region: the region
 *
 * Context: with a reference.
 * Return: 0; -EINTR: killed.
 */
int kcoll_region_wait_idle(struct kcoll_region *region)
{
	return wait_event_killable(region->wait, idle(region));
}

/**
 * kcoll_region_uncached_begin() - an uncached copy holds pages that no set tells of
 * @segment: where
 * @seq: of the notifier, before they were looked up
 * @last: use them in any case, in a generation that has passed already
 *
 * Return: 0; -ENOENT: the region has ended; -EAGAIN: the owner has changed its memory since.
 */
int kcoll_region_uncached_begin(struct kcoll_segment *segment, unsigned long seq, bool last)
{
	struct kcoll_region *region = segment->region;
	int err = 0;

	spin_lock(&region->lock);
	if (region->dead)
		err = -ENOENT;
	else if (!mmu_interval_read_retry(&segment->watch->notifier, seq))
		err = 0;
	else if (last)
		generation_bump(&region->gen);
	else
		err = -EAGAIN;
	region->uncached += !err;
	spin_unlock(&region->lock);
	return err;
}

/**
 * kcoll_region_uncached_end() - it does not any more
 * @region: the region
 */
void kcoll_region_uncached_end(struct kcoll_region *region)
{
	spin_lock(&region->lock);
	region->uncached--;
	spin_unlock(&region->lock);
	wake_up_all(&region->wait);
}
