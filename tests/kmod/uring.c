// SPDX-License-Identifier: BSD-3-Clause
/*
 * The commands through io_uring: run at submission, by workers, by the kernel's submission thread, many at once,
 * refused, cancelled by death, and stalled while their process goes on.
 */
#include <liburing.h>
#include <linux/userfaultfd.h>
#include <pthread.h>

#include "kcoll_test.h"

static struct io_uring ring;

static void ring_new(unsigned int entries, unsigned int flags)
{
	int err;

	device();
	err = io_uring_queue_init(entries, &ring, flags);
	if (err == -ENOSYS || err == -EPERM)
		skip("no io_uring");
	CHECK_EQ(err, 0);
}

static struct io_uring_sqe *prepare(u32 op, const void *command, size_t size, u64 data, unsigned int flags)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	CHECK(sqe);
	memset(sqe, 0, 128);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = dev;
	sqe->cmd_op = op;
	sqe->flags = flags;
	sqe->user_data = data;
	memcpy(sqe->cmd, command, size);
	return sqe;
}

static void queue_copy(u64 cookie, u64 offset, void *addr, size_t len, u32 flags, u64 data, unsigned int sqe_flags)
{
	struct kcoll_copy args = {
	    .size = sizeof(args), .flags = flags, .cookie = cookie, .offset = offset, .addr = (u64)addr, .len = len};

	prepare(KCOLL_COPY, &args, sizeof(args), data, sqe_flags);
}

static int result(u64 *data)
{
	struct io_uring_cqe *cqe;
	int res;

	CHECK_EQ(io_uring_wait_cqe(&ring, &cqe), 0);
	res = cqe->res;
	if (data)
		*data = cqe->user_data;
	io_uring_cqe_seen(&ring, cqe);
	return res;
}

static int copy_now(u64 cookie, u64 offset, void *addr, size_t len, u32 flags, unsigned int sqe_flags)
{
	queue_copy(cookie, offset, addr, len, flags, 1, sqe_flags);
	CHECK_EQ(io_uring_submit(&ring), 1);
	return result(NULL);
}

TEST(uring_copies)
{
	char *p = memory(SMALL, 4 * HUGE), *x = memory(SMALL, 4 * HUGE);
	struct kcoll_stats s;
	u64 cookie;

	ring_new(8, IORING_SETUP_SQE128);
	fill(p, 4 * HUGE, 1);
	cookie = reg(p, 4 * HUGE, KCOLL_READ | KCOLL_WRITE);
	/* A miss goes to a worker; hits run at submission; large copies always go to a worker. */
	CHECK_EQ(copy_now(cookie, 10, x, 50000, KCOLL_READ, 0), 50000);
	CHECK(filled(x, 50000, 1, 10));
	CHECK_EQ(copy_now(cookie, 20, x, 50000, KCOLL_READ, 0), 50000);
	CHECK(filled(x, 50000, 1, 20));
	CHECK_EQ(copy_now(cookie, 0, x, 4 * HUGE, KCOLL_READ, IOSQE_ASYNC), 4 * HUGE);
	CHECK(filled(x, 4 * HUGE, 1, 0));
	fill(x, 4 * HUGE, 2);
	CHECK_EQ(copy_now(cookie, 0, x, 4 * HUGE, KCOLL_WRITE, 0), 4 * HUGE);
	CHECK(filled(p, 4 * HUGE, 2, 0));
	CHECK_EQ(copy_now(cookie, 0, x, 0, KCOLL_READ, 0), 0);
	CHECK(!stats_get(0, &s));
	CHECK_EQ(s.copies, 5);
	CHECK_EQ(s.pins, 5); /* the first window twice: the part of the first copy, then all of it */
	/* Errors are the same as with ioctl(). */
	CHECK_EQ(copy_now(cookie ^ 4, 0, x, 8, KCOLL_READ, 0), -ENOENT);
	CHECK_EQ(copy_now(cookie, 4 * HUGE, x, 8, KCOLL_READ, IOSQE_ASYNC), -ERANGE);
	CHECK_EQ(copy_now(cookie, 0, x, 8, KCOLL_READ | KCOLL_WRITE, 0), -EINVAL);
	CHECK_EQ(copy_now(cookie, 0, (void *)8, 8, KCOLL_READ, 0), -EFAULT);
	/* Progress counts more than the error that ended it. */
	munmap(x + HUGE, HUGE);
	CHECK_EQ(copy_now(cookie, 0, x, 2 * HUGE, KCOLL_READ, IOSQE_ASYNC), HUGE);
}

TEST(registered_buffers_are_refused)
{
	char *p = memory(SMALL, HUGE), x[1000], buffer[64];
	struct iovec iov = {buffer, sizeof(buffer)};
	u64 cookie = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER);
	struct kcoll_copy args = {
	    .size = sizeof(args), .flags = KCOLL_READ, .cookie = cookie, .addr = (u64)x, .len = sizeof(x)};

	fill(x, sizeof(x), 7);
	ring_new(8, IORING_SETUP_SQE128);
	CHECK_EQ(io_uring_register_buffers(&ring, &iov, 1), 0);
	/* Not used as the address that the command names. (An alias of uring_cmd_flags, which not all headers have.)
	 */
	prepare(KCOLL_COPY, &args, sizeof(args), 1, 0)->rw_flags = 1;
	CHECK_EQ(io_uring_submit(&ring), 1);
	CHECK_EQ(result(NULL), -EINVAL);
	CHECK(filled(x, sizeof(x), 7, 0));
	CHECK_EQ(copy_now(cookie, 0, x, sizeof(x), KCOLL_READ, 0), sizeof(x));
}

TEST(uring_inline_max)
{
	char *p = memory(SMALL, HUGE), x[1000];
	u64 cookie = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER);

	ring_new(8, IORING_SETUP_SQE128);
	trace_begin("kcoll_uring/enable");
	CHECK_EQ(copy_now(cookie, 0, x, 1000, KCOLL_READ, 0), 1000);
	CHECK_EQ(file_count(TRACE, "inline=1 ret=1000"), 1);
	parameter("uring_inline_max", "999");
	CHECK_EQ(copy_now(cookie, 0, x, 1000, KCOLL_READ, 0), 1000);
	CHECK_EQ(copy_now(cookie, 0, x, 999, KCOLL_READ, 0), 999);
	parameter("uring_inline_max", "65536");
	CHECK_EQ(file_count(TRACE, "inline=0 ret=1000"), 1);
	CHECK_EQ(file_count(TRACE, "inline=1 ret=999"), 1);
	trace_end("kcoll_uring/enable");
}

TEST(uring_copy2_and_register)
{
	char *p = memory(SMALL, HUGE), *q = memory(SMALL, HUGE);
	struct kcoll_copy2 two = {.size = sizeof(two), .len = 300000, .src_offset = 7, .dst_offset = 9};
	u64 src = 0, dst = 0;
	struct kcoll_register args = {
	    .size = sizeof(args), .flags = KCOLL_READ, .addr = (u64)p, .len = HUGE, .cookie_ptr = (u64)&src};
	struct io_uring_sqe *sqe;

	ring_new(8, IORING_SETUP_SQE128);
	fill(p, HUGE, 3);
	prepare(KCOLL_REGISTER, &args, sizeof(args), 1, 0);
	args.flags = KCOLL_WRITE | KCOLL_EAGER;
	args.addr = (u64)q;
	args.cookie_ptr = (u64)&dst;
	prepare(KCOLL_REGISTER, &args, sizeof(args), 2, IOSQE_ASYNC);
	CHECK_EQ(io_uring_submit(&ring), 2);
	CHECK_EQ(result(NULL), 0);
	CHECK_EQ(result(NULL), 0);
	CHECK(src && dst && src != dst);
	two.src_cookie = src;
	two.dst_cookie = dst;
	prepare(KCOLL_COPY2, &two, sizeof(two), 3, 0);
	CHECK_EQ(io_uring_submit(&ring), 1);
	CHECK_EQ(result(NULL), 300000);
	CHECK(filled(q + 9, 300000, 3, 7));
	args.cookie_ptr = 0;
	prepare(KCOLL_REGISTER, &args, sizeof(args), 4, 0);
	args.size = 20;
	prepare(KCOLL_REGISTER, &args, sizeof(args), 5, 0);
	prepare(KCOLL_STATS, &args, sizeof(args), 6, 0);
	sqe = prepare(KCOLL_COPY2, &two, sizeof(two), 7, 0);
	((char *)sqe->cmd)[75] = 1;
	CHECK_EQ(io_uring_submit(&ring), 4);
	CHECK_EQ(result(NULL) + result(NULL) + result(NULL) + result(NULL), -EINVAL * 3 - ENOTTY);
	CHECK(!unreg(src) && !unreg(dst));
}

TEST(uring_needs_big_entries)
{
	char *p = memory(SMALL, HUGE);
	struct io_uring_sqe *sqe;

	ring_new(8, 0);
	sqe = io_uring_get_sqe(&ring);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = dev;
	sqe->cmd_op = KCOLL_COPY;
	CHECK_EQ(io_uring_submit(&ring), 1);
	CHECK_EQ(result(NULL), -EINVAL);
	CHECK(reg(p, PAGE, KCOLL_READ));
}

TEST(uring_many_in_flight)
{
	enum { N = 64 };
	char *p = memory(SMALL, 4 * HUGE), *x = memory(SMALL, N * 65536UL);
	u64 cookie, data;
	int round, i;

	ring_new(N, IORING_SETUP_SQE128);
	fill(p, 4 * HUGE, 4);
	cookie = reg(p, 4 * HUGE, KCOLL_READ);
	for (round = 0; round < 6; round++) {
		memset(x, 0, N * 65536UL);
		for (i = 0; i < N; i++)
			queue_copy(cookie, i * 70001UL, x + i * 65536UL, 65536 - i, KCOLL_READ, i,
				   i % 2 ? IOSQE_ASYNC : 0);
		/* Drop the pages under them. */
		if (round == 3)
			CHECK(!mprotect(p, 4 * HUGE, PROT_READ));
		CHECK_EQ(io_uring_submit(&ring), N);
		for (i = 0; i < N; i++) {
			CHECK_EQ(result(&data), 65536 - (long)data);
			CHECK(filled(x + data * 65536UL, 65536 - data, 4, data * 70001UL));
		}
	}
}

TEST(uring_dies_with_copies_in_flight)
{
	char *p = memory(SMALL, 4 * HUGE);
	u64 cookie;
	int i, k;

	fill(p, 4 * HUGE, 4);
	cookie = reg(p, 4 * HUGE, KCOLL_READ);
	for (i = 0; i < 6; i++) {
		pid_t pid = fork();

		if (!pid) {
			char *x = memory(SMALL, 4 * HUGE);

			dev = -1;
			ring_new(64, IORING_SETUP_SQE128);
			for (k = 0; k < 60; k++)
				queue_copy(cookie, 0, x, 4 * HUGE, KCOLL_READ, k, IOSQE_ASYNC);
			io_uring_submit(&ring);
			if (i % 2)
				_exit(0);
			pause();
		}
		usleep(30000 + 10000 * i);
		if (!(i % 3))
			madvise(p, HUGE, MADV_DONTNEED);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	CHECK(!unreg(cookie));
	CHECK_EQ(pinned_pages(), 0);
}

/* --- rings of others --- */

/* Another process may submit on a ring, but not with the descriptor. */
TEST(an_inherited_ring_does_not_lend_the_descriptor)
{
	static const unsigned int by[] = {0, IOSQE_ASYNC};
	char *p = memory(SMALL, HUGE), x[1000];
	u64 cookie = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER);
	int i, status;
	pid_t pid;

	fill(p, HUGE, 5);
	ring_new(8, IORING_SETUP_SQE128);
	CHECK_EQ(copy_now(cookie, 0, x, sizeof(x), KCOLL_READ, 0), sizeof(x));
	fill(x, sizeof(x), 7);
	pid = fork();
	if (!pid) {
		for (i = 0; i < 2; i++)
			CHECK_EQ(copy_now(cookie, 0, x, sizeof(x), KCOLL_READ, by[i]), -EPERM);
		CHECK(filled(x, sizeof(x), 7, 0));
		/* With a descriptor of its own it is a peer like others. */
		device_again();
		for (i = 0; i < 2; i++) {
			memset(x, 0, sizeof(x));
			CHECK_EQ(copy_now(cookie, 9, x, sizeof(x), KCOLL_READ, by[i]), sizeof(x));
			CHECK(filled(x, sizeof(x), 5, 9));
		}
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(!unreg(cookie));
}

TEST(the_submission_thread_copies)
{
	char *p = memory(SMALL, 2 * HUGE), *x = memory(SMALL, 2 * HUGE);
	u64 cookie = reg(p, 2 * HUGE, KCOLL_READ | KCOLL_WRITE);

	fill(p, 2 * HUGE, 1);
	ring_new(8, IORING_SETUP_SQE128 | IORING_SETUP_SQPOLL);
	trace_begin("kcoll_uring/enable");
	CHECK_EQ(copy_now(cookie, 10, x, 50000, KCOLL_READ, 0), 50000); /* a miss: by a worker */
	CHECK(filled(x, 50000, 1, 10));
	CHECK_EQ(copy_now(cookie, 20, x, 49999, KCOLL_READ, 0), 49999);
	CHECK(filled(x, 49999, 1, 20));
	CHECK_EQ(file_count(TRACE, "inline=0 ret=50000"), 1);
	CHECK_EQ(file_count(TRACE, "inline=1 ret=49999"), 1);
	trace_end("kcoll_uring/enable");
	fill(x, 2 * HUGE, 2);
	CHECK_EQ(copy_now(cookie, 0, x, 2 * HUGE, KCOLL_WRITE, IOSQE_ASYNC), 2 * HUGE);
	CHECK(filled(p, 2 * HUGE, 2, 0));
	CHECK_EQ(copy_now(cookie, 0, (void *)8, 8, KCOLL_READ, 0), -EFAULT);
	CHECK(!unreg(cookie));
}

/* --- workers stalled in a copy: their buffers' pages never come in --- */

enum { STALLED = 2, SOON = 20 /* seconds, on a loaded machine */ };
static u64 regions[STALLED];
static int stalls[2], go[2];
static unsigned int ring_flags;
static bool by_kernel; /* not copies, but reads as the kernel itself has them */

static void queue_read(void *addr, size_t len, u64 data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	int zeros = open("/dev/zero", O_RDONLY);

	CHECK(sqe && zeros >= 0);
	memset(sqe, 0, 128);
	io_uring_prep_read(sqe, zeros, addr, len, 0);
	sqe->flags = IOSQE_ASYNC;
	sqe->user_data = data;
}

/* Returns when the workers have stalled, and the owner says so. */
static void stall(void)
{
	struct uffd_msg message;
	char *missing, byte;
	int faults, i;

	ring_new(8, IORING_SETUP_SQE128 | ring_flags);
	missing = memory_missing(HUGE, &faults);
	for (i = 0; i < STALLED; i++) {
		if (by_kernel)
			queue_read(missing + i * 8 * PAGE, 8192, i);
		else
			queue_copy(regions[i], 0, missing + i * 8 * PAGE, 8192, KCOLL_READ, i, IOSQE_ASYNC);
	}
	CHECK_EQ(io_uring_submit(&ring), STALLED);
	for (i = 0; i < STALLED; i++)
		CHECK_EQ(read(faults, &message, sizeof(message)), sizeof(message));
	CHECK(write(stalls[1], "x", 1) == 1 && read(go[0], &byte, 1) == 1);
}

static void *stalls_then_exits(void *unused)
{
	stall();
	return NULL;
}

static void its_thread_exits(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, stalls_then_exits, NULL) && !pthread_join(thread, NULL));
}

static void it_execs(void)
{
	stall();
	CHECK(!execl("/bin/true", "true", NULL)); /* returns only if it fails */
}

static void it_closes_both(void)
{
	char *p = memory(SMALL, HUGE), x[100];
	u64 cookie;

	stall();
	io_uring_queue_exit(&ring);
	device_again();
	/* It goes on as if nothing had been. */
	fill(p, HUGE, 3);
	cookie = reg(p, HUGE, KCOLL_READ);
	CHECK(!copy(cookie, 1, x, sizeof(x), KCOLL_READ) && filled(x, sizeof(x), 3, 1));
	ring_new(8, IORING_SETUP_SQE128);
	CHECK_EQ(copy_now(cookie, 2, x, sizeof(x), KCOLL_READ, IOSQE_ASYNC), sizeof(x));
	CHECK(filled(x, sizeof(x), 3, 2) && !unreg(cookie));
}

/* Other commands of the ring go on; then it exits. */
static void it_submits_more(void)
{
	char *p = memory(SMALL, HUGE), x[100];
	u64 cookie = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER);

	fill(p, HUGE, 3);
	stall();
	CHECK_EQ(copy_now(cookie, 1, x, sizeof(x), KCOLL_READ, 0), sizeof(x));
	CHECK(filled(x, sizeof(x), 3, 1) && !unreg(cookie));
}

static void unregisters_soon(u64 cookie)
{
	double start = seconds_now();

	CHECK(!unreg(cookie));
	printf("# UNREGISTER took %.3f s\n", seconds_now() - start);
	CHECK(seconds_now() - start < SOON);
}

/* Whether a child ends in some seconds. */
static bool ends_in(pid_t pid, double seconds)
{
	double end = seconds_now() + seconds;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (seconds_now() > end)
			return false;
		usleep(1000);
	}
	CHECK(!status || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	return true;
}

/* The same; if it does not, a kill does it. */
static bool ends_or_is_killed(pid_t pid, double seconds)
{
	if (ends_in(pid, seconds))
		return true;
	kill(pid, SIGKILL);
	CHECK(ends_in(pid, SOON));
	return false;
}

static pid_t stalled_process(void (*how)(void))
{
	char byte;
	pid_t pid;

	CHECK(!pipe2(stalls, O_CLOEXEC) && !pipe2(go, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		device_again();
		how();
		_exit(0);
	}
	close(stalls[1]);
	CHECK(read(stalls[0], &byte, 1) == 1);
	return pid;
}

/*
 * The owner is held neither while workers of a peer are stalled, nor while that goes on to its end. Returns whether it
 * gets there in `seconds`.
 */
static bool goes_on_while_stalled(void (*how)(void), double seconds)
{
	char *p = memory(SMALL, HUGE);
	pid_t pid;
	int i;

	fill(p, HUGE, 1);
	for (i = 0; i < STALLED; i++)
		CHECK(regions[i] = reg(p, HUGE, KCOLL_READ));
	pid = stalled_process(how);
	unregisters_soon(regions[0]);
	CHECK(write(go[1], "x", 1) == 1);
	unregisters_soon(regions[1]);
	CHECK_EQ(pinned_pages(), 0);
	return ends_or_is_killed(pid, seconds);
}
TEST(a_process_exits_while_its_workers_are_stalled) { CHECK(goes_on_while_stalled(stall, SOON)); }
TEST(a_ring_is_closed_while_its_workers_are_stalled) { CHECK(goes_on_while_stalled(it_closes_both, SOON)); }
TEST(a_ring_goes_on_while_its_workers_are_stalled) { CHECK(goes_on_while_stalled(it_submits_more, SOON)); }
TEST(a_submission_thread_goes_on_while_workers_are_stalled)
{
	ring_flags = IORING_SETUP_SQPOLL;
	CHECK(goes_on_while_stalled(it_submits_more, SOON));
}

/*
 * exec and the exit of a thread wait for the thread's workers, which io_uring asks to end, but not by a signal that
 * kills: a page fault of the kernel goes on. So these are delayed until the page comes in or the process is killed,
 * with copies no longer than with the kernel's own reads.
 */
static void delayed_as_by_reads(void (*how)(void))
{
	enum { DELAY = 3 };
	bool ended;
	pid_t pid;

	by_kernel = true;
	pid = stalled_process(how);
	CHECK(write(go[1], "x", 1) == 1);
	ended = ends_or_is_killed(pid, DELAY);
	printf("# %s by stalled reads\n", ended ? "not delayed" : "delayed");
	by_kernel = false;
	CHECK(goes_on_while_stalled(how, ended ? SOON : DELAY) || !ended);
}
TEST(a_process_execs_while_its_workers_are_stalled) { delayed_as_by_reads(it_execs); }
TEST(a_thread_exits_while_its_workers_are_stalled) { delayed_as_by_reads(its_thread_exits); }

int main(int argc, char **argv) { return test_main(argc, argv); }
