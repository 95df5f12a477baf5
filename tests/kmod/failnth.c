// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every allocation and every access to user memory that a command makes fails once, one after the other (the kernel's
 * fail-nth). A command may then fail with a matching error, or succeed anyway; afterwards everything must work.
 */
#include <sys/syscall.h>

#include "kcoll_test.h"

static int nth_file;

static void setting(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		return;
	CHECK(write(fd, value, strlen(value)) > 0);
	close(fd);
}

static void prepare(void)
{
	static const char *const faults[] = {"failslab", "fail_page_alloc", "fail_usercopy"};
	char path[100];
	unsigned int i;

	nth_file = open("/proc/thread-self/fail-nth", O_RDWR);
	if (nth_file < 0)
		skip("this kernel has no fault injection (make test-kmod-debug has)");
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/ignore-gfp-wait", faults[i]);
		setting(path, "N");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/min-order", faults[i]);
		setting(path, "0");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose", faults[i]);
		setting(path, "0");
	}
	device();
}

/* Arms the n-th failure from now. It may hit this write itself: then it is disarmed, and the next write succeeds. */
static void arm(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(nth_file, text, len, 0) != len)
		CHECK(pwrite(nth_file, text, len, 0) == len);
}

/* Disarms. Returns whether the command hit the failure (not this read, and it is not left). */
static bool used(void)
{
	char text[16] = "1";

	if (pread(nth_file, text, sizeof(text) - 1, 0) < 0)
		return false;
	arm(0);
	return atoi(text) == 0;
}

static bool expected(int error) { return error == ENOMEM || error == EFAULT || error == EAGAIN || error == ENFILE; }

static void (*before_each)(void);

/* Runs the body with the 1st, 2nd, ... failure until there is none left. */
#define FOR_EACH_FAILURE(limit, body, after)                                                                         \
	do {                                                                                                         \
		int n_, failed_ = 0, error_;                                                                         \
		bool hit_ = true;                                                                                    \
		for (n_ = 1; hit_ && n_ < (limit); n_++) {                                                           \
			long ret_;                                                                                   \
			if (before_each)                                                                             \
				before_each();                                                                       \
			errno = 0;                                                                                   \
			arm(n_);                                                                                     \
			ret_ = (long)(body);                                                                         \
			error_ = errno;                                                                              \
			hit_ = used();                                                                               \
			if (ret_ < 0) {                                                                              \
				failed_++;                                                                           \
				if (!hit_ || !expected(error_))                                                      \
					fail(__FILE__, __LINE__, "failure %d: errno %d, used %d", n_, error_, hit_); \
			}                                                                                            \
			after;                                                                                       \
		}                                                                                                    \
		printf("# %d places, %d failed the command\n", n_ - 2, failed_);                                     \
		CHECK(!hit_ && n_ > 2);                                                                              \
	} while (0)

static u64 cookie;
static char *p, *x;

static void scene(void)
{
	prepare();
	p = memory(SMALL, HUGE);
	x = memory(SMALL, HUGE);
	fill(p, HUGE, 1);
	fill(x, HUGE, 9);
	cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE);
	CHECK(cookie);
}

static void still_works(void)
{
	CHECK(!copy(cookie, 3, x, 5000, KCOLL_READ));
	CHECK(filled(x, 5000, 1, 3));
}

TEST(failures_of_open)
{
	long fd;

	scene();
	FOR_EACH_FAILURE(200, fd = device_open(), if (fd >= 0) close(fd));
	still_works();
}

static long reg_once(u32 flags)
{
	struct kcoll_range ranges[3] = {{(u64)p, PAGE}, {(u64)p + 3 * PAGE, 9000}, {(u64)p + HUGE / 2, 100000}};
	u64 c = reg_ranges(ranges, 3, flags);

	return c ? (long)(c >> 1) : -1;
}

TEST(failures_of_register)
{
	scene();
	FOR_EACH_FAILURE(500, reg_once(KCOLL_READ), still_works());
	FOR_EACH_FAILURE(900, reg_once(KCOLL_READ | KCOLL_EAGER), still_works());
}

static u64 fresh;
static void register_fresh(void) { CHECK(fresh = reg(p, PAGE, KCOLL_READ | KCOLL_EAGER)); }

TEST(failures_of_unregister)
{
	scene();
	before_each = register_fresh;
	FOR_EACH_FAILURE(100, unreg(fresh), {
		unreg(fresh);
		still_works();
	});
}

TEST(failures_of_a_missing_copy)
{
	scene();
	FOR_EACH_FAILURE(1500, copy(cookie, 0, x, HUGE, KCOLL_READ), {
		madvise(p, PAGE, MADV_DONTNEED);
		fill(p, PAGE, 1);
		still_works();
		madvise(p, PAGE, MADV_DONTNEED);
		fill(p, PAGE, 1);
	});
}

TEST(failures_of_a_hit)
{
	struct iovec iov[20];
	int i;

	scene();
	for (i = 0; i < 20; i++)
		iov[i] = (struct iovec){x + i * 3000, 2999};
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ));
	FOR_EACH_FAILURE(200, copy(cookie, 0, x, 3 * PAGE, KCOLL_READ), still_works());
	FOR_EACH_FAILURE(200, copyv(cookie, 0, iov, 20, KCOLL_READ), still_works());
}

static long small_copy2(u64 into) { return copy2(cookie, 0, into, 0, 60000); }

TEST(failures_of_copy2_and_batches)
{
	struct kcoll_op ops[2] = {0};
	struct kcoll_batch batch = {.size = sizeof(batch), .ops = (u64)ops, .count = 2};
	u64 into;
	int i;

	scene();
	into = reg(x, HUGE, KCOLL_WRITE);
	CHECK(!small_copy2(into));
	FOR_EACH_FAILURE(200, small_copy2(into), still_works());
	for (i = 0; i < 2; i++) {
		ops[i].op = KCOLL_OP_COPY;
		ops[i].copy = (struct kcoll_copy){
		    .size = sizeof(ops[i].copy), .flags = KCOLL_READ, .cookie = cookie, .addr = (u64)x, .len = 100};
	}
	FOR_EACH_FAILURE(200, ioctl(dev, KCOLL_BATCH, &batch), still_works());
}

TEST(failures_of_the_rest)
{
	struct kcoll_attach at;
	struct kcoll_stats s;
	struct kcoll_info info = {.size = sizeof(info)};
	u64 gen;

	scene();
	FOR_EACH_FAILURE(100, attach(cookie, &at), still_works());
	FOR_EACH_FAILURE(100, (gen = 0, sync_region(cookie, &gen)), still_works());
	FOR_EACH_FAILURE(100, stats_get(0, &s), still_works());
	FOR_EACH_FAILURE(100, ioctl(dev, KCOLL_INFO, &info), still_works());
	/* The first region founds the descriptor's own domain. */
	FOR_EACH_FAILURE(200, ({
				 int r, mine = dev;
				 dev = device_open();
				 r = dev >= 0 && reg(p, PAGE, KCOLL_READ) ? 0 : -1;
				 int e = errno;
				 if (dev >= 0)
					 close(dev);
				 dev = mine;
				 errno = e;
				 r;
			 }),
			 still_works());
	FOR_EACH_FAILURE(100, ({
				 struct kcoll_join args = {.size = sizeof(args), .key = {5}};
				 int r, other = device_open();
				 r = other < 0 ? -1 : ioctl(other, KCOLL_JOIN, &args);
				 int e = errno;
				 if (other >= 0)
					 close(other);
				 errno = e;
				 r;
			 }),
			 still_works());
}

TEST(failures_of_mapping)
{
	char *m;
	scene();
	FOR_EACH_FAILURE(300, (m = map(cookie, 0, HUGE, PROT_READ)) == MAP_FAILED ? -1 : 0, {
		if (m != MAP_FAILED)
			munmap(m, HUGE);
	});
	m = map(cookie, 0, HUGE, PROT_READ);
	CHECK(m != MAP_FAILED);
	/* A fault while allocations fail: SIGBUS or the right bytes. */
	FOR_EACH_FAILURE(300, (p_peek((long[8]){(long)m, HUGE, 1, 0}) == 1 ? -1 : 0), {
		munmap(m, HUGE);
		m = map(cookie, 0, HUGE, PROT_READ);
		CHECK(m != MAP_FAILED);
	});
	CHECK_EQ(p_peek((long[8]){(long)m, HUGE, 1, 0}), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
