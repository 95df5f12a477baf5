// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: made by REGISTER, found by cookie, ended by UNREGISTER or with the owner's descriptor.
 *
 * References: every command in progress, every queued work item, every mapping and every pin set holds one
 * (region->ref, per CPU, so that copies write no shared line). region_kill() makes lookups fail, unpublishes
 * everything and drops the first reference; the last one frees the region from a work item, because removing an
 * interval notifier sleeps.
 *
 * Locking order, outermost first. Nothing on a higher line is taken while holding something on a lower one:
 *
 *   context->lock                              a descriptor's list of regions
 *   window->lock                               single flight of a miss
 *   gate                                       a place to pin
 *   mmap_lock of the owner                     pinning
 *   region->map_sem                            (a peer's fault: below the peer's mmap_lock)
 *   i_mmap_rwsem, page table locks             zapping, inserting
 *   region->lock                               (also taken in invalidations, below any lock of the memory manager)
 *   table_lock | sets_lock | gate->lock | dying_lock
 *
 * A fault drops the peer's mmap_lock before it takes a window->lock. Nobody sleeps holding region->lock. Nobody waits
 * for a pin set's last user except UNREGISTER, which holds no lock then and can be killed.
 *
 * Invariants:
 *   1. A window publishes a set only under region->lock, while the region is not dead, and after
 *      mmu_interval_read_retry() has said that no invalidation ran since before its pages were looked up.
 *   2. So after an invalidation has returned to the memory manager, no lookup finds pages from before it.
 *   3. A set's pages stay pinned until all who hold its reference are done and no mapping shows them.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/idr.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "account.h"
#include "device.h"
#include "domain.h"
#include "map.h"
#include "notify.h"
#include "params.h"
#include "pinset.h"
#include "region.h"
#include "stats.h"
#include "trace.h"

static DEFINE_SPINLOCK(table_lock); /* guards writing to the table */
static DEFINE_HASHTABLE(table, 12);
static DEFINE_IDA(map_indices);
static atomic_t alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(none_alive);

int region_count(void)
{
	return atomic_read(&alive);
}

/* Module exit: all descriptors are closed, so no region is alive for long. */
void region_wait_none(void)
{
	while (!wait_event_timeout(none_alive, !atomic_read(&alive), HZ / 10))
		pinset_unpin_now();
}

static void region_free(struct region *region)
{
	u32 i;

	for (i = 0; i < region->nsegments; i++)
		notify_remove(&region->segments[i]);
	if (region->gen.page)
		generation_free(&region->gen);
	percpu_ref_exit(&region->ref);
	ida_free(&map_indices, region->map_index);
	atomic_dec(&region->owner->regions);
	owner_put(region->owner);
	domain_put(region->domain);
	put_user_ns(region->userns);
	kvfree(region->windows);
	kvfree(region->segments);
	if (region->blank)
		__free_page(region->blank);
	/* No grace period: percpu_ref_kill() waited for one after the last lookup could start. */
	kfree(region);
	if (atomic_dec_and_test(&alive))
		wake_up(&none_alive);
}

static void region_free_work(struct work_struct *work)
{
	region_free(container_of(work, struct region, free_work));
}

static void region_released(struct percpu_ref *ref)
{
	struct region *region = container_of(ref, struct region, ref);

	queue_work(kcoll_wq, &region->free_work);
}

void region_put(struct region *region)
{
	percpu_ref_put(&region->ref);
}

/* Lays the ranges out one after another. -EINVAL: empty, wraps, or too long together. */
static int lay_out(struct region *region, const struct kcoll_range *ranges, u32 n, unsigned long *windows)
{
	bool aligned = true;
	u32 i;

	*windows = 0;
	for (i = 0; i < n; i++) {
		struct segment *segment = &region->segments[i];
		u64 end;

		if (!ranges[i].len || check_add_overflow(ranges[i].addr, ranges[i].len, &end) || end > TASK_SIZE ||
		    ranges[i].len > MAP_MAX_BYTES - region->len)
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

static u64 fresh_cookie(void)
{
	u64 cookie;

	do
		cookie = get_random_u64();
	while (!cookie);
	return cookie;
}

/* REQUIRES: table_lock or rcu_read_lock() */
static struct region *find(u64 cookie)
{
	struct region *region;

	hash_for_each_possible_rcu(table, region, hash, cookie, lockdep_is_held(&table_lock))
		if (region->cookie == cookie)
			return region;
	return NULL;
}

static void publish(struct region *region)
{
	for (;;) {
		spin_lock(&table_lock);
		region->cookie = fresh_cookie();
		if (!find(region->cookie))
			break;
		spin_unlock(&table_lock);
	}
	hash_add_rcu(table, &region->hash, region->cookie);
	spin_unlock(&table_lock);
}

static struct region *region_new(struct context *ctx, u32 n, u32 flags, u32 gate_limit)
{
	struct region *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	int index;

	if (!region)
		return NULL;
	region->segments = kvcalloc(n, sizeof(*region->segments), GFP_KERNEL_ACCOUNT);
	if (!region->segments)
		goto free_region;
	if (percpu_ref_init(&region->ref, region_released, 0, GFP_KERNEL))
		goto free_segments;
	index = ida_alloc_range(&map_indices, 1, MAP_MAX_INDEX, GFP_KERNEL_ACCOUNT);
	if (index < 0)
		goto exit_ref;
	region->map_index = index;
	atomic_inc(&alive);
	INIT_HLIST_NODE(&region->hash);
	INIT_LIST_HEAD(&region->link);
	INIT_LIST_HEAD(&region->dropped);
	spin_lock_init(&region->lock);
	init_rwsem(&region->map_sem);
	init_waitqueue_head(&region->wait);
	INIT_WORK(&region->zap_work, map_zap_work);
	INIT_WORK(&region->free_work, region_free_work);
	region->direction = flags & (KCOLL_READ | KCOLL_WRITE);
	region->gate_limit = gate_limit;
	region->euid = current_euid();
	region->userns = get_user_ns(current_user_ns());
	region->domain = domain_get(ctx->domain);
	region->owner = owner_get(ctx->owner);
	return region;

exit_ref:
	percpu_ref_exit(&region->ref);
free_segments:
	kvfree(region->segments);
free_region:
	kfree(region);
	return NULL;
}

/*
 * REQUIRES: ctx->lock, current->mm is the owner's. The region is in no list of the descriptor yet.
 * EDQUOT: max_regions.
 */
struct region *region_create(struct context *ctx, const struct kcoll_range *ranges, u32 n, u32 flags, u32 gate_limit)
{
	struct region *region;
	unsigned long windows, i;
	int err;

	if (atomic_inc_return(&ctx->owner->regions) > READ_ONCE(param_max_regions)) {
		atomic_dec(&ctx->owner->regions);
		return ERR_PTR(-EDQUOT);
	}
	region = region_new(ctx, n, flags, gate_limit);
	if (!region) {
		atomic_dec(&ctx->owner->regions);
		return ERR_PTR(-ENOMEM);
	}
	err = lay_out(region, ranges, n, &windows);
	if (err)
		goto free;
	err = generation_alloc(&ctx->generations, &region->gen);
	if (err)
		goto free;
	err = -ENOMEM;
	region->windows = kvcalloc(windows, sizeof(*region->windows), GFP_KERNEL_ACCOUNT);
	if (!region->windows)
		goto free;
	for (i = 0; i < windows; i++)
		mutex_init(&region->windows[i].lock);
	account_note_limit(ctx->owner);
	while (region->nsegments < n) {
		err = notify_insert(&region->segments[region->nsegments]);
		if (err)
			goto free;
		region->nsegments++;
	}
	publish(region);
	trace_kcoll_reg(region->cookie, region->len, n, flags);
	return region;

free:
	region_free(region);
	return ERR_PTR(err);
}

/* Same user, same namespace, same domain; another user only if the administrator says so and both share a domain. */
static int access_check(const struct region *region, const struct context *ctx, u32 direction)
{
	if (region->domain != ctx->domain || (region->direction & direction) != direction)
		return -EACCES;
	if (uid_eq(region->euid, current_euid()) && region->userns == current_user_ns())
		return 0;
	if (region->domain && READ_ONCE(param_cross_userns))
		return 0;
	return -EACCES;
}

/* A reference to the region, for one command. ERR_PTR: ENOENT, EACCES. */
struct region *region_get(struct context *ctx, u64 cookie, u32 direction)
{
	struct region *region;
	int err = -ENOENT;

	rcu_read_lock();
	region = find(cookie);
	if (region) {
		err = access_check(region, ctx, direction);
		if (!err && !percpu_ref_tryget_live(&region->ref))
			err = -ENOENT;
	}
	rcu_read_unlock();
	return err ? ERR_PTR(err) : region;
}

/* The same by the index of an attachment, which remembers the cookie. */
struct region *region_get_index(struct context *ctx, u32 index, u64 cookie)
{
	struct region *region = region_get(ctx, cookie, KCOLL_READ);

	if (!IS_ERR(region) && region->map_index != index) {
		region_put(region);
		return ERR_PTR(-ENOENT);
	}
	return region;
}

/* REQUIRES: offset < region->len */
struct segment *region_segment(struct region *region, u64 offset)
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

/* Ends a region: nobody finds it any more, nothing of it stays published. The caller has taken it off its list. */
void region_kill(struct region *region)
{
	u32 i;

	spin_lock(&table_lock);
	hash_del_rcu(&region->hash);
	spin_unlock(&table_lock);

	spin_lock(&region->lock);
	region->dead = true;
	generation_end(&region->gen);
	for (i = 0; i < region->nsegments; i++)
		pinset_drop_range(&region->segments[i], region->segments[i].start, region->segments[i].end);
	spin_unlock(&region->lock);

	trace_kcoll_unreg(region->cookie, region->len);
	percpu_ref_kill(&region->ref);
}

static bool idle(struct region *region)
{
	bool idle;

	spin_lock(&region->lock);
	idle = region->zaps == region->drops && !region->sets && !region->uncached;
	spin_unlock(&region->lock);
	return idle;
}

/* REQUIRES: a reference; the region is dead. Waits until no copy and no mapping touches its memory. */
int region_wait_idle(struct region *region)
{
	return wait_event_killable(region->wait, idle(region));
}

/* An uncached copy holds pages that no set tells of; false: the region has ended. */
bool region_uncached_begin(struct region *region)
{
	bool alive;

	spin_lock(&region->lock);
	alive = !region->dead;
	region->uncached += alive;
	spin_unlock(&region->lock);
	return alive;
}

void region_uncached_end(struct region *region)
{
	spin_lock(&region->lock);
	region->uncached--;
	spin_unlock(&region->lock);
	wake_up_all(&region->wait);
}

void region_show_all(struct seq_file *m)
{
	struct region *region;
	unsigned int bucket;

	seq_puts(m, "owner_pid uid length ranges direction mappings sets drops zaps generation owner_pinned_pages\n");
	rcu_read_lock();
	hash_for_each_rcu(table, bucket, region, hash)
		seq_printf(m, "%d %u %llu %u %s%s %d %u %llu %llu %llu %ld\n", region->owner->pid,
			   from_kuid_munged(seq_user_ns(m), region->euid), region->len, region->nsegments,
			   region->direction & KCOLL_READ ? "r" : "", region->direction & KCOLL_WRITE ? "w" : "",
			   atomic_read(&region->maps), region->sets, region->drops, region->zaps,
			   generation_now(&region->gen), atomic_long_read(&region->owner->pinned_pages));
	rcu_read_unlock();
}
