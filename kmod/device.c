// SPDX-License-Identifier: GPL-2.0-only
/* /dev/kcoll: opening, closing, and taking commands apart. What they do is elsewhere. */
#include <linux/compat.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "account.h"
#include "compat.h"
#include "copy.h"
#include "device.h"
#include "domain.h"
#include "eager.h"
#include "map.h"
#include "params.h"
#include "region.h"
#include "uring.h"
#include "user.h"

/* --- descriptors --- */

/* What a descriptor takes, without its regions. */
static size_t context_bytes(void)
{
	return sizeof(struct kcoll_context) + COUNTERS_BYTES;
}

static int device_open(struct inode *inode, struct file *file)
{
	struct kcoll_context *ctx;
	int err;

	if (!current->mm)
		return -EINVAL;
	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return -ENOMEM;
	ctx->owner = kcoll_owner_get_current();
	err = PTR_ERR_OR_ZERO(ctx->owner);
	if (err)
		goto free_ctx;
	err = kcoll_account_metadata(ctx->owner->user, context_bytes());
	if (err)
		goto put_owner;
	err = kcoll_stats_init(&ctx->stats);
	if (err)
		goto uncharge;
	mutex_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->regions);
	INIT_LIST_HEAD(&ctx->generations.pages);
	spin_lock_init(&ctx->attach_lock);
	ctx->attachments = RB_ROOT;
	file->private_data = ctx;
	return nonseekable_open(inode, file);

uncharge:
	kcoll_account_metadata_end(ctx->owner->user, context_bytes(), false);
put_owner:
	kcoll_owner_put(ctx->owner);
free_ctx:
	kfree(ctx);
	return err;
}

static int device_release(struct inode *inode, struct file *file)
{
	struct kcoll_context *ctx = file->private_data;
	struct kcoll_region *region, *next;

	list_for_each_entry_safe(region, next, &ctx->regions, link) {
		list_del_init(&region->link);
		kcoll_region_kill(region);
		cond_resched();
	}
	kcoll_generation_pool_exit(&ctx->generations);
	kcoll_map_detach_all(ctx);
	kcoll_stats_exit(&ctx->stats, ctx->domain);
	if (ctx->domain)
		kcoll_domain_leave(ctx->domain);
	kcoll_account_metadata_end(ctx->owner->user, context_bytes(), false);
	kcoll_owner_put(ctx->owner);
	kfree(ctx);
	return 0;
}

/* --- commands --- */

static int command_info(struct kcoll_context *ctx, struct kcoll_info *args)
{
	if (args->flags)
		return -EINVAL;
	args->version = KCOLL_VERSION;
	args->max_ranges = MAX_RANGES;
	args->max_batch = MAX_BATCH;
	args->max_regions = READ_ONCE(kcoll_param_max_regions);
	args->features = KCOLL_FEATURE_COPY2 | KCOLL_FEATURE_BATCH | KCOLL_FEATURE_MAP |
			 KCOLL_FEATURE_URING | KCOLL_FEATURE_DOMAIN | KCOLL_FEATURE_QUIET;
	if (KCOLL_HUGE_MAP && READ_ONCE(kcoll_param_huge_map))
		args->features |= KCOLL_FEATURE_HUGE_MAP;
	if (READ_ONCE(kcoll_param_cross_userns))
		args->features |= KCOLL_FEATURE_CROSS_USERNS;
	args->max_region_bytes = MAP_MAX_BYTES;
	args->pinned_pages = atomic_long_read(&ctx->owner->pinned_pages);
	return 0;
}

/* REQUIRES: ctx->lock. The first and only domain of the descriptor: it stays as long as that. */
static void enter(struct kcoll_context *ctx, struct kcoll_domain *domain)
{
	kcoll_stats_enter(&ctx->stats, domain);
	smp_store_release(&ctx->domain, domain); /* look-ups take no lock */
}

/* EBUSY: the descriptor has joined a domain, or registered; so has one that could attach. */
static int command_join(struct kcoll_context *ctx, const struct kcoll_join *args)
{
	struct kcoll_user *user = ctx->owner->user;
	struct kcoll_domain *domain;
	int err = 0;

	if (args->flags & ~KCOLL_JOIN_USER)
		return -EINVAL;
	/* The user's domain has no key; others have one. */
	if (!(args->flags & KCOLL_JOIN_USER) == !memchr_inv(args->key, 0, sizeof(args->key)))
		return -EINVAL;
	if (READ_ONCE(ctx->domain))
		return -EBUSY;
	domain = args->flags & KCOLL_JOIN_USER ? kcoll_domain_join_user(user) :
						 kcoll_domain_join(args->key, user);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	if (mutex_lock_killable(&ctx->lock)) {
		kcoll_domain_leave(domain);
		return -EINTR;
	}
	if (ctx->domain)
		err = -EBUSY;
	else
		enter(ctx, domain);
	mutex_unlock(&ctx->lock);
	if (err)
		kcoll_domain_leave(domain);
	return err;
}

/* The caller's ranges, for kvfree(). */
static struct kcoll_range *fetch_ranges(const struct kcoll_register *args, u32 *n)
{
	struct kcoll_range *ranges;

	if (args->flags & KCOLL_VECTOR) {
		if (!args->len || args->len > MAX_RANGES)
			return ERR_PTR(-EINVAL);
		*n = args->len;
		ranges = kvmalloc_array(*n, sizeof(*ranges), GFP_KERNEL_ACCOUNT);
		if (!ranges)
			return ERR_PTR(-ENOMEM);
		if (copy_from_user(ranges, u64_to_user_ptr(args->addr), *n * sizeof(*ranges))) {
			kvfree(ranges);
			return ERR_PTR(-EFAULT);
		}
		return ranges;
	}
	ranges = kvmalloc(sizeof(*ranges), GFP_KERNEL_ACCOUNT);
	if (!ranges)
		return ERR_PTR(-ENOMEM);
	*n = 1;
	*ranges = (struct kcoll_range){ .addr = args->addr, .len = args->len };
	return ranges;
}

/* Takes a region off the descriptor's list; false: somebody else has. */
static bool unlink(struct kcoll_context *ctx, struct kcoll_region *region)
{
	bool ours;

	mutex_lock(&ctx->lock);
	ours = !list_empty(&region->link);
	if (ours)
		list_del_init(&region->link);
	mutex_unlock(&ctx->lock);
	return ours;
}

/* REQUIRES: ctx->lock. Founds the descriptor's own domain if it has joined none. */
static struct kcoll_region *create_region(struct kcoll_context *ctx,
					  const struct kcoll_register *args,
					  const struct kcoll_range *ranges, u32 n)
{
	struct kcoll_domain *domain = ctx->domain;
	struct kcoll_region *region;

	if (!domain)
		domain = kcoll_domain_private(ctx->owner->user);
	if (IS_ERR(domain))
		return ERR_CAST(domain);
	region = kcoll_region_create(ctx, domain, ranges, n, args->flags, args->gate_limit);
	if (ctx->domain)
		return region;
	/* After a failure here it has registered nothing, and may still join. */
	if (IS_ERR(region))
		kcoll_domain_leave(domain);
	else
		enter(ctx, domain);
	return region;
}

/**
 * kcoll_register_region() - REGISTER
 * @ctx: the descriptor
 * @args: the arguments of the command
 * @cookie: out: names the region
 *
 * Return: 0 or an errno of the uapi header.
 */
int kcoll_register_region(struct kcoll_context *ctx, const struct kcoll_register *args, u64 *cookie)
{
	const u32 known = KCOLL_READ | KCOLL_WRITE | KCOLL_EAGER | KCOLL_VECTOR;
	struct kcoll_range *ranges;
	struct kcoll_region *region;
	u32 n = 0;
	int err = 0;

	if ((args->flags & ~known) || !(args->flags & (KCOLL_READ | KCOLL_WRITE)) || args->reserved)
		return -EINVAL;
	ranges = fetch_ranges(args, &n);
	if (IS_ERR(ranges))
		return PTR_ERR(ranges);
	if (mutex_lock_killable(&ctx->lock)) {
		kvfree(ranges);
		return -EINTR;
	}
	region = create_region(ctx, args, ranges, n);
	if (!IS_ERR(region)) {
		percpu_ref_get(&region->ref); /* ours, for the rest of this function */
		list_add(&region->link, &ctx->regions);
		*cookie = region->cookie;
	}
	mutex_unlock(&ctx->lock);
	kvfree(ranges);
	if (IS_ERR(region))
		return PTR_ERR(region);

	if ((args->flags & KCOLL_EAGER) || READ_ONCE(kcoll_param_pin_mode) == PIN_EAGER)
		err = kcoll_eager_pin(region, &ctx->stats);
	if (!err && args->cookie_ptr &&
	    put_user(*cookie, (u64 __user *)u64_to_user_ptr(args->cookie_ptr)))
		err = -EFAULT;
	if (err && unlink(ctx, region))
		kcoll_region_kill(region);
	kcoll_region_put(region);
	return err;
}

static int command_unregister(struct kcoll_context *ctx, const struct kcoll_unregister *args)
{
	struct kcoll_region *region;
	int err = -ENOENT;

	if (args->flags & ~KCOLL_NOWAIT)
		return -EINVAL;
	if (mutex_lock_killable(&ctx->lock))
		return -EINTR;
	list_for_each_entry(region, &ctx->regions, link) {
		if (region->cookie == args->cookie) {
			list_del_init(&region->link);
			percpu_ref_get(&region->ref);
			err = 0;
			break;
		}
	}
	mutex_unlock(&ctx->lock);
	if (err)
		return err;
	kcoll_region_kill(region);
	if (!(args->flags & KCOLL_NOWAIT)) {
		kcoll_dying_unpin_now(&ctx->owner->user->dying);
		err = kcoll_region_wait_idle(region) ? -EINTR : 0;
	}
	kcoll_region_put(region);
	return err;
}

/* After a REGISTER whose caller does not learn the cookie. */
static void take_back(struct kcoll_context *ctx, u64 cookie)
{
	const struct kcoll_unregister args = { .flags = KCOLL_NOWAIT, .cookie = cookie };

	(void)command_unregister(ctx, &args);
}

static int command_sync(struct kcoll_context *ctx, struct kcoll_sync *args)
{
	struct kcoll_region *region;
	u64 target, expected = args->gen;
	int err;

	if (args->flags)
		return -EINVAL;
	region = kcoll_region_get(ctx, args->cookie, 0);
	if (IS_ERR(region))
		return PTR_ERR(region);
	spin_lock(&region->lock);
	target = region->drops;
	/* What is dropped from now on may still be shown below: it has a later generation. */
	args->gen = generation_now(&region->gen);
	spin_unlock(&region->lock);
	err = kcoll_map_wait_zapped(region, target);
	kcoll_map_remove_blanks(region);
	if (!err && expected && expected != args->gen) {
		stats_add(&ctx->stats, stale, 1);
		err = -ESTALE;
	}
	kcoll_region_put(region);
	return err;
}

static int command_stats(struct kcoll_context *ctx, struct kcoll_stats *args)
{
	struct kcoll_domain *domain = READ_ONCE(ctx->domain);
	u32 flags = args->flags, size = args->size;

	if ((flags & ~(KCOLL_STATS_ALL | KCOLL_STATS_TIME | KCOLL_STATS_NOTIME)) ||
	    ((flags & KCOLL_STATS_TIME) && (flags & KCOLL_STATS_NOTIME)))
		return -EINVAL;
	if (flags & (KCOLL_STATS_TIME | KCOLL_STATS_NOTIME))
		WRITE_ONCE(ctx->stats.timed, flags & KCOLL_STATS_TIME);
	memset(args, 0, sizeof(*args));
	args->size = size;
	args->flags = flags;
	if ((flags & KCOLL_STATS_ALL) && domain)
		kcoll_stats_sum_domain(domain, args);
	else
		kcoll_stats_sum(&ctx->stats, args);
	return 0;
}

union kcoll_args {
	struct kcoll_info info;
	struct kcoll_join join;
	struct kcoll_register reg;
	struct kcoll_unregister unreg;
	struct kcoll_copy copy;
	struct kcoll_copy2 copy2;
	struct kcoll_batch batch;
	struct kcoll_sync sync;
	struct kcoll_attach attach;
	struct kcoll_stats stats;
	struct {
		u32 size, flags;
	};
};

static int run(struct kcoll_context *ctx, unsigned int nr, union kcoll_args *args)
{
	switch (nr) {
	case _IOC_NR(KCOLL_INFO):
		return command_info(ctx, &args->info);
	case _IOC_NR(KCOLL_JOIN):
		return command_join(ctx, &args->join);
	case _IOC_NR(KCOLL_REGISTER):
		return kcoll_register_region(ctx, &args->reg, &args->reg.cookie);
	case _IOC_NR(KCOLL_UNREGISTER):
		return command_unregister(ctx, &args->unreg);
	case _IOC_NR(KCOLL_COPY):
		return kcoll_copy_run(ctx, &args->copy, true);
	case _IOC_NR(KCOLL_COPY2):
		return kcoll_copy2_run(ctx, &args->copy2, true);
	case _IOC_NR(KCOLL_BATCH):
		return kcoll_copy_batch(ctx, &args->batch);
	case _IOC_NR(KCOLL_SYNC):
		return command_sync(ctx, &args->sync);
	case _IOC_NR(KCOLL_ATTACH):
		return kcoll_map_attach(ctx, &args->attach);
	default:
		return command_stats(ctx, &args->stats);
	}
}

/* Size of a command's structure, by number: the least that is accepted. */
static size_t struct_size_of(unsigned int nr)
{
	static const size_t sizes[] = {
		[_IOC_NR(KCOLL_INFO)] = sizeof(struct kcoll_info),
		[_IOC_NR(KCOLL_JOIN)] = sizeof(struct kcoll_join),
		[_IOC_NR(KCOLL_REGISTER)] = sizeof(struct kcoll_register),
		[_IOC_NR(KCOLL_UNREGISTER)] = sizeof(struct kcoll_unregister),
		[_IOC_NR(KCOLL_COPY)] = sizeof(struct kcoll_copy),
		[_IOC_NR(KCOLL_COPY2)] = sizeof(struct kcoll_copy2),
		[_IOC_NR(KCOLL_BATCH)] = sizeof(struct kcoll_batch),
		[_IOC_NR(KCOLL_SYNC)] = sizeof(struct kcoll_sync),
		[_IOC_NR(KCOLL_ATTACH)] = sizeof(struct kcoll_attach),
		[_IOC_NR(KCOLL_STATS)] = sizeof(struct kcoll_stats),
	};

	return nr < ARRAY_SIZE(sizes) ? sizes[nr] : 0;
}

/* COPY as this kernel knows it, without what the other commands need. false: see run_any(). */
static noinline bool run_copy(struct kcoll_context *ctx, struct kcoll_copy __user *user, long *ret)
{
	struct kcoll_copy args;

	if (copy_from_user(&args, user, sizeof(args)) || args.size != sizeof(args))
		return false;
	*ret = kcoll_copy_run(ctx, &args, true);
	if (put_user(args.done, &user->done))
		*ret = -EFAULT;
	return true;
}

/* In a frame of its own: it is large. */
static noinline long run_any(struct kcoll_context *ctx, unsigned int cmd, void __user *user)
{
	unsigned int nr = _IOC_NR(cmd);
	size_t known = struct_size_of(nr);
	union kcoll_args args;
	u32 size;
	int err, ret;

	/* The size in the command's number is that of the caller's header: not compared. */
	if (_IOC_TYPE(cmd) != KCOLL_MAGIC || _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE) || !known)
		return -ENOTTY;
	if (!context_is_ours(ctx))
		return -EPERM;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size < known)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(&args, known, user, size);
	if (err)
		return err;
	/* Read again with the rest: it must not have become another. */
	if (args.size != size)
		return -EINVAL;
	ret = run(ctx, nr, &args);
	/* Also after an error: it may tell what was done before it. */
	if (copy_to_user(user, &args, known)) {
		if (!ret && nr == _IOC_NR(KCOLL_REGISTER))
			take_back(ctx, args.reg.cookie);
		return -EFAULT;
	}
	return ret;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct kcoll_context *ctx = file->private_data;
	void __user *user = (void __user *)arg;
	long ret;

	if (cmd == KCOLL_COPY && context_is_ours(ctx) && run_copy(ctx, user, &ret))
		return ret;
	return run_any(ctx, cmd, user);
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = kcoll_map_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.uring_cmd = kcoll_uring_cmd,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kcoll",
	.fops = &device_fops,
	.mode = 0600,
};

/**
 * kcoll_device_start() - makes /dev/kcoll appear
 *
 * Return: 0 or an errno.
 */
int kcoll_device_start(void)
{
	return misc_register(&device);
}

/**
 * kcoll_device_stop() - the opposite
 */
void kcoll_device_stop(void)
{
	misc_deregister(&device);
}
