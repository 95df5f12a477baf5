// SPDX-License-Identifier: GPL-2.0-only
/*
 * COPY, COPY2 and BATCH.
 *
 * While bytes move, a copy holds a reference to one window of each region and no lock, so it may be
 * preempted. It does not wait for other memory then: where that is missing, it lets go of the
 * region, brings it in, and goes on. A hit takes no lock at all and writes no line that another CPU
 * writes.
 */
#include <linux/ktime.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "copy.h"
#include "device.h"
#include "region.h"
#include "trace.h"
#include "view.h"

#define PIECE SZ_1M	 /* moved at once, at most */
#define PAUSE SZ_256K	 /* a kill is noticed after so many bytes, or a piece */
#define FAULT_IN SZ_256K /* bytes of the caller's that are brought in at a time */
#define BOUNCE SZ_64K	 /* bytes that go from region to region at a time while pages are missing */

/* Clock readings of one copy; all 0 while nobody asked for them. */
struct kcoll_clock {
	bool on;
	u64 start, copy_ns;
};

static u64 clock_read(const struct kcoll_clock *clock)
{
	return clock->on ? ktime_get_ns() : 0;
}

static struct kcoll_clock clock_start(const struct kcoll_context *ctx)
{
	struct kcoll_clock clock = { .on = READ_ONCE(ctx->stats.timed) ||
					   trace_kcoll_copy_enabled() };

	clock.start = clock_read(&clock);
	return clock;
}

static bool stale(struct kcoll_context *ctx, struct kcoll_region *region, u64 gen)
{
	if (likely(!gen) || gen == generation_now(&region->gen))
		return false;
	stats_add(&ctx->stats, stale, 1);
	return true;
}

static int range_check(const struct kcoll_region *region, u64 offset, u64 len)
{
	return offset > region->len || len > region->len - offset ? -ERANGE : 0;
}

static int pause_point(void)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return 0;
}

static void account_copy(struct kcoll_context *ctx, u64 cookie, const struct kcoll_view *a,
			 const struct kcoll_view *b, u64 done, bool write,
			 const struct kcoll_clock *clock, int err)
{
	u64 uncached_bytes = a->uncached_bytes + (b ? b->uncached_bytes : 0);
	bool uncached = a->was_uncached || (b && b->was_uncached);
	struct kcoll_counters *stats = &ctx->stats;

	stats_add(stats, copies, 1);
	if (write)
		stats_add(stats, bytes_written, done);
	else
		stats_add(stats, bytes_read, done);
	if (uncached) {
		stats_add(stats, copies_uncached, 1);
		stats_add(stats, bytes_uncached, min(uncached_bytes, done));
	}
	if (clock->on) {
		u64 total = ktime_get_ns() - clock->start;
		u64 wait = a->times.gate_ns + a->times.lock_ns + a->times.pin_ns;

		if (b)
			wait += b->times.gate_ns + b->times.lock_ns + b->times.pin_ns;
		stats_add(stats, timed, 1);
		stats_add(stats, timed_bytes, done);
		stats_add(stats, total_ns, total);
		stats_add(stats, copy_ns, clock->copy_ns);
		stats_add(stats, wait_ns, wait);
		trace_kcoll_copy(cookie, done, write, !uncached,
				 max(a->times.conc, b ? b->times.conc : 0), total, clock->copy_ns,
				 wait, err);
	}
}

/* The side of a copy that faces a view: the caller's memory or, in COPY2, the target region's. */
struct kcoll_far {
	struct iov_iter *iter;
	struct kcoll_view *view;
	u64 offset;   /* in the view's region */
	size_t ask;   /* bytes of iter to be brought in when some are missing */
	void *bounce; /* BOUNCE bytes, once they are needed */
	struct kcoll_clock *clock;
};

/*
 * Brings the caller's next pages in. That may never end (a page of a user fault handler's, or
 * of a file system's), so nothing of the region is held meanwhile: its owner waits for none but
 * those who move bytes.
 */
static int fault_in(struct kcoll_view *near, struct kcoll_far *far, u64 left)
{
	size_t n = min_t(u64, left, far->ask), missing;

	if (!near->may_sleep)
		return -EAGAIN;
	kcoll_view_let_go(near);
	missing = near->write ? fault_in_iov_iter_readable(far->iter, n) :
				fault_in_iov_iter_writeable(far->iter, n);
	if (missing < n)
		return 0;
	return fatal_signal_pending(current) ? -EINTR : -EFAULT;
}

/*
 * Moves some of `left` bytes between a region and the caller's memory; *moved, which is 0 before,
 * is how many, perhaps 0.
 */
static int move(struct kcoll_view *near, u64 offset, struct kcoll_far *far, u64 left, size_t *moved)
{
	size_t n, one;
	void *addr;
	u64 t;
	int err;

	err = kcoll_view_span(near, offset, left, &addr, &n);
	if (err)
		return err;
	t = clock_read(far->clock);
	pagefault_disable();
	do {
		n = min(n, PIECE);
		one = near->write ? _copy_from_iter(addr, n, far->iter) :
				    _copy_to_iter(addr, n, far->iter);
		*moved += one;
	} while (one == n && *moved < PAUSE &&
		 kcoll_view_next(near, offset + *moved, left - *moved, &addr, &n));
	pagefault_enable();
	far->clock->copy_ns += clock_read(far->clock) - t;
	return one < n ? fault_in(near, far, left - *moved) : 0;
}

/*
 * Between two regions, by way of a buffer: pages of one may have to be brought in while none of the
 * other are held.
 */
static int move2_bounced(struct kcoll_view *near, u64 offset, struct kcoll_far *far, u64 left,
			 size_t *moved)
{
	void *addr;
	size_t n;
	u64 t;
	int err;

	/* In one piece of 16 pages it may fail. */
	if (!far->bounce)
		far->bounce = kvmalloc(BOUNCE, GFP_KERNEL);
	if (!far->bounce)
		return -ENOMEM;
	kcoll_view_let_go(far->view);
	err = kcoll_view_span(near, offset, left, &addr, &n);
	if (err)
		return err;
	n = min(n, BOUNCE);
	t = clock_read(far->clock);
	memcpy(far->bounce, addr, n);
	far->clock->copy_ns += clock_read(far->clock) - t;
	kcoll_view_let_go(near);
	err = kcoll_view_span(far->view, far->offset, n, &addr, &n);
	if (err)
		return err;
	t = clock_read(far->clock);
	memcpy(addr, far->bounce, n);
	far->clock->copy_ns += clock_read(far->clock) - t;
	*moved = n;
	return 0;
}

/* The same as move() between two regions. */
static int move2(struct kcoll_view *near, u64 offset, struct kcoll_far *far, u64 left,
		 size_t *moved)
{
	bool may_sleep = near->may_sleep;
	void *from, *to;
	size_t n;
	u64 t;
	int err;

	near->may_sleep = false;
	far->view->may_sleep = false;
	err = kcoll_view_span(near, offset, left, &from, &n) ?:
		      kcoll_view_span(far->view, far->offset, n, &to, &n);
	near->may_sleep = may_sleep;
	far->view->may_sleep = may_sleep;
	if (err == -EAGAIN && may_sleep)
		return move2_bounced(near, offset, far, left, moved);
	if (err)
		return err;
	*moved = min(n, PIECE);
	t = clock_read(far->clock);
	memmove(to, from, *moved);
	far->clock->copy_ns += clock_read(far->clock) - t;
	return 0;
}

static int copy_bytes(struct kcoll_view *near, u64 offset, struct kcoll_far *far, u64 left,
		      u64 *done)
{
	size_t paused = 0; /* bytes since */
	int err = 0;

	while (left && !err) {
		size_t moved = 0;

		err = far->view ? move2(near, offset, far, left, &moved) :
				  move(near, offset, far, left, &moved);
		/* What came in may be gone again, as in a mapping whose owner may pin little. */
		far->ask = moved ? FAULT_IN : PAGE_SIZE;
		*done += moved;
		offset += moved;
		far->offset += moved;
		left -= moved;
		paused += moved;
		if (!err && left && (paused >= PAUSE || !moved)) {
			err = pause_point();
			paused = 0;
		}
	}
	kvfree(far->bounce);
	return err;
}

/* REQUIRES: a reference to the region. iter: the caller's side. */
static int run_iter(struct kcoll_context *ctx, struct kcoll_region *region, struct kcoll_copy *args,
		    struct iov_iter *iter, bool may_sleep)
{
	struct kcoll_clock clock = clock_start(ctx);
	struct kcoll_far caller = { .iter = iter, .ask = FAULT_IN, .clock = &clock };
	u64 total = iov_iter_count(iter);
	struct kcoll_view view;
	int err;

	err = range_check(region, args->offset, total);
	if (err)
		return err;
	if (stale(ctx, region, args->gen))
		return -ESTALE;
	view_init(&view, region, &ctx->stats, args->flags & KCOLL_WRITE, total);
	view.may_sleep = may_sleep;
	err = copy_bytes(&view, args->offset, &caller, total, &args->done);
	view_exit(&view);
	if (!err && stale(ctx, region, args->gen))
		err = -ESTALE;
	if (err != -EAGAIN)
		account_copy(ctx, args->cookie, &view, NULL, args->done, view.write, &clock, err);
	return err;
}

/* The caller's memory in pieces. In a frame of its own: few copies need the room. */
static noinline int run_vector(struct kcoll_context *ctx, struct kcoll_region *region,
			       struct kcoll_copy *args, unsigned int direction, bool may_sleep)
{
	struct iovec stack[UIO_FASTIOV], *iov = stack;
	struct iov_iter iter;
	ssize_t total;
	int err;

	if (args->len > UIO_MAXIOV)
		return -EINVAL;
	total = import_iovec(direction, u64_to_user_ptr(args->addr), args->len, ARRAY_SIZE(stack),
			     &iov, &iter);
	if (total < 0)
		return total;
	/* It cuts what is longer: say so rather than copy less. */
	err = total == MAX_RW_COUNT ? -EINVAL : run_iter(ctx, region, args, &iter, may_sleep);
	kfree(iov);
	return err;
}

/**
 * kcoll_copy_run() - copies between a region and the caller's memory
 * @ctx: the descriptor
 * @args: what; `done` says how much of it was copied, also after an error
 * @may_sleep: whether pages may be waited for
 *
 * Return: 0 or an errno of the uapi header; -EAGAIN: it would have to wait and may not.
 */
int kcoll_copy_run(struct kcoll_context *ctx, struct kcoll_copy *args, bool may_sleep)
{
	u32 direction = args->flags & (KCOLL_READ | KCOLL_WRITE);
	unsigned int way = direction == KCOLL_WRITE ? ITER_SOURCE : ITER_DEST;
	void __user *addr = u64_to_user_ptr(args->addr);
	struct kcoll_region *region;
	struct iov_iter iter;
	int err;

	args->done = 0;
	if ((args->flags & ~(KCOLL_READ | KCOLL_WRITE | KCOLL_VECTOR)) || !direction ||
	    direction == (KCOLL_READ | KCOLL_WRITE))
		return -EINVAL;
	region = kcoll_region_get(ctx, args->cookie, direction);
	if (IS_ERR(region))
		return PTR_ERR(region);
	if (args->flags & KCOLL_VECTOR) {
		err = run_vector(ctx, region, args, way, may_sleep);
	} else if (args->len > SSIZE_MAX || !access_ok(addr, args->len)) {
		err = -EFAULT;
	} else {
		iov_iter_ubuf(&iter, way, addr, args->len);
		err = run_iter(ctx, region, args, &iter, may_sleep);
	}
	kcoll_region_put(region);
	return err;
}

static int copy2_views(struct kcoll_context *ctx, struct kcoll_region *from,
		       struct kcoll_region *to, struct kcoll_copy2 *args, bool may_sleep)
{
	struct kcoll_clock clock = clock_start(ctx);
	struct kcoll_view src, dst;
	struct kcoll_far target = { .view = &dst, .offset = args->dst_offset, .clock = &clock };
	int err;

	err = range_check(from, args->src_offset, args->len) ?:
		      range_check(to, args->dst_offset, args->len);
	if (err)
		return err;
	if (stale(ctx, from, args->src_gen) || stale(ctx, to, args->dst_gen))
		return -ESTALE;
	view_init(&src, from, &ctx->stats, false, args->len);
	view_init(&dst, to, &ctx->stats, true, args->len);
	src.may_sleep = may_sleep;
	dst.may_sleep = may_sleep;
	err = copy_bytes(&src, args->src_offset, &target, args->len, &args->done);
	view_exit(&dst);
	view_exit(&src);
	if (!err && (stale(ctx, from, args->src_gen) || stale(ctx, to, args->dst_gen)))
		err = -ESTALE;
	if (err != -EAGAIN)
		account_copy(ctx, args->dst_cookie, &src, &dst, args->done, true, &clock, err);
	return err;
}

/**
 * kcoll_copy2_run() - copies between two regions
 * @ctx: the descriptor
 * @args: what; `done` says how much of it was copied
 * @may_sleep: whether pages may be waited for
 *
 * Return: as kcoll_copy_run().
 */
int kcoll_copy2_run(struct kcoll_context *ctx, struct kcoll_copy2 *args, bool may_sleep)
{
	struct kcoll_region *from, *to;
	int err;

	args->done = 0;
	if (args->flags)
		return -EINVAL;
	from = kcoll_region_get(ctx, args->src_cookie, KCOLL_READ);
	if (IS_ERR(from))
		return PTR_ERR(from);
	to = kcoll_region_get(ctx, args->dst_cookie, KCOLL_WRITE);
	err = PTR_ERR_OR_ZERO(to);
	if (!err) {
		err = copy2_views(ctx, from, to, args, may_sleep);
		kcoll_region_put(to);
	}
	kcoll_region_put(from);
	return err;
}

/* Exactly the size that this kernel knows, and nothing after it. */
static bool op_size_is(const struct kcoll_op *op, size_t size)
{
	return op->copy.size == size &&
	       !memchr_inv((char *)op->reserved + size, 0, sizeof(op->reserved) - size);
}

static int run_op(struct kcoll_context *ctx, struct kcoll_op *op)
{
	if (op->op == KCOLL_OP_COPY && op_size_is(op, sizeof(op->copy)))
		return kcoll_copy_run(ctx, &op->copy, true);
	if (op->op == KCOLL_OP_COPY2 && op_size_is(op, sizeof(op->copy2)))
		return kcoll_copy2_run(ctx, &op->copy2, true);
	return -EINVAL;
}

/**
 * kcoll_copy_batch() - runs operations in order
 * @ctx: the descriptor
 * @args: fills `done` and each operation's result and done
 *
 * Return: 0 or the first error.
 */
int kcoll_copy_batch(struct kcoll_context *ctx, struct kcoll_batch *args)
{
	struct kcoll_op __user *ops = u64_to_user_ptr(args->ops);
	int first = 0;

	args->done = 0;
	if ((args->flags & ~KCOLL_CONTINUE) || args->count > MAX_BATCH)
		return -EINVAL;
	while (args->done < args->count) {
		struct kcoll_op op;

		if (copy_from_user(&op, &ops[args->done], sizeof(op)))
			return first ?: -EFAULT;
		op.result = run_op(ctx, &op);
		if (copy_to_user(&ops[args->done], &op, sizeof(op)))
			return first ?: -EFAULT;
		args->done++;
		first = first ?: op.result;
		if ((first && !(args->flags & KCOLL_CONTINUE)) || op.result == -EINTR)
			break;
		if (args->done < args->count && pause_point())
			return first ?: -EINTR;
	}
	return first;
}
