// SPDX-License-Identifier: BSD-3-Clause
/*
 * The cost of one operation in counts, which are the same on emulated and real machines: kcoll compared with CMA.
 *
 *   counts locks         1 MiB from one owner by 1..8 readers: mmap_lock acquisitions, waits for locks, pages pinned;
 *                        the owner idle, or mapping and unmapping memory of its own as an allocator does
 *   counts instructions  instructions per operation (needs a machine whose clock counts them: ICOUNT=1)
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <x86intrin.h>

#include "kcoll_test.h"

enum path { CMA, CACHED, UNCACHED, MAPPED, PATHS };
static const char *const path_name[] = {"cma", "kcoll cached", "kcoll uncached", "kcoll mapped"};
enum { MAX_READERS = 8 };

struct board {
	volatile int ready, go, done;
	volatile u64 cookie;
	u64 locks[MAX_READERS], waits[MAX_READERS];
};
static struct board *board;
static pid_t owner_pid;
static char *source, *target, *mapping;

static void operation(enum path path, size_t len)
{
	struct iovec local = {target, len}, remote = {source, len};

	switch (path) {
	case CMA: CHECK_EQ(process_vm_readv(owner_pid, &local, 1, &remote, 1, 0), len); break;
	case MAPPED: memcpy(target, mapping, len); break;
	default: CHECK(!copy(board->cookie, 0, target, len, KCOLL_READ));
	}
}

static int tracepoint(const char *name)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
	char path[200], text[20] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	attr.config = atoi(text);
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static u64 count(int fd)
{
	u64 n;

	CHECK(read(fd, &n, 8) == 8);
	return n;
}

static u64 pins(void)
{
	char line[200];
	u64 n = 0, value;
	FILE *f;

	f = fopen("/proc/sys/vm/stat_refresh", "r");
	CHECK(f);
	(void)!fgets(line, sizeof(line), f);
	fclose(f);
	f = fopen("/proc/vmstat", "r");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "nr_foll_pin_acquired %lu", &value) == 1)
			n = value;
	fclose(f);
	return n;
}

static void prepare_reader(enum path path, size_t len)
{
	dev = -1;
	device();
	memset(target, 1, len);
	if (path == MAPPED) {
		mapping = map(board->cookie, 0, len, PROT_READ);
		CHECK(mapping != MAP_FAILED);
	}
	operation(path, len);
}

static void reader(int self, enum path path, size_t len, int operations)
{
	int locks = tracepoint("mmap_lock/mmap_lock_acquire_returned"), waits = tracepoint("lock/contention_begin"),
	    gate = tracepoint("kcoll/kcoll_gate");
	u64 locks0, waits0;
	int i;

	prepare_reader(path, len);
	__sync_fetch_and_add(&board->ready, 1);
	while (!board->go)
		sched_yield();
	locks0 = count(locks);
	waits0 = count(waits) + count(gate);
	for (i = 0; i < operations; i++)
		operation(path, len);
	board->locks[self] = count(locks) - locks0;
	board->waits[self] = count(waits) + count(gate) - waits0;
	__sync_fetch_and_add(&board->done, 1);
	_exit(0);
}

struct row {
	double locks, waits, pins, clocks;
};

/* Pinned pages are used in any mode: an uncached measurement needs a region that was never pinned. */
static void register_for(enum path path)
{
	if (board->cookie)
		unreg(board->cookie);
	parameter("pin_mode", path == UNCACHED ? "2" : "0");
	board->cookie = reg(source, HUGE, path == UNCACHED ? KCOLL_READ : KCOLL_READ | KCOLL_EAGER);
	CHECK(board->cookie);
}

/* Waits for the readers; a busy owner maps and unmaps memory meanwhile. */
static void wait_for(int readers, bool busy)
{
	while (board->done < readers) {
		size_t len = 64 * PAGE;
		char *p;

		if (!busy) {
			usleep(500);
			continue;
		}
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(p != MAP_FAILED);
		memset(p, 1, len);
		CHECK(!munmap(p, len));
	}
}

static struct row measure(enum path path, size_t len, int readers, int operations, bool busy)
{
	struct row row = {0};
	u64 pins0, clock0;
	int i, status;

	register_for(path);
	memset(board->locks, 0, sizeof(board->locks));
	board->ready = board->go = board->done = 0;
	fflush(stdout);
	for (i = 0; i < readers; i++)
		if (!fork())
			reader(i, path, len, operations);
	while (board->ready < readers)
		usleep(1000);
	pins0 = pins();
	clock0 = __rdtsc();
	board->go = 1;
	wait_for(readers, busy);
	row.clocks = (double)(__rdtsc() - clock0) / readers / operations;
	for (i = 0; i < readers; i++) {
		wait(&status);
		CHECK_EQ(status, 0);
		row.locks += (double)board->locks[i] / readers / operations;
		row.waits += (double)board->waits[i] / readers / operations;
	}
	row.pins = (double)(pins() - pins0) / readers / operations;
	parameter("pin_mode", "0");
	return row;
}

static void setup(size_t len)
{
	size_t i;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	owner_pid = getpid();
	source = memory(SMALL, len);
	target = memory(SMALL, len);
	/* Touched in such an order that no page is next to its successor: the worst case for extents. */
	for (i = 0; i < len / PAGE; i++)
		source[i * 37 % (len / PAGE) * PAGE] = 1;
	fill(source, len, 1);
	memset(target, 1, len);
}

/* Contention as counted waiting: an operation and each wait within it as one unit, 8 readers to one. */
static void table(bool busy, int operations, double gamma[PATHS])
{
	int readers, path;

	printf("\nper 1 MiB operation; the owner %s\n", busy ? "maps and unmaps memory" : "is idle");
	printf("%-15s %8s %16s %13s %22s %16s\n", "", "readers", "mmap_lock taken", "pages pinned",
	       "writes to shared lines", "waits for locks");
	for (path = CMA; path < PATHS; path++) {
		double alone = 0;

		for (readers = 1; readers <= MAX_READERS; readers *= 2) {
			struct row row = measure(path, HUGE / 2, readers, operations, busy);

			alone = readers == 1 ? row.waits : alone;
			gamma[path] = (1 + row.waits) / (1 + alone);
			/* Taking and leaving a lock, pinning and unpinning a page: lines that all readers of an owner
			 * write. */
			printf("%-15s %8d %16.2f %13.2f %22.0f %16.3f\n", path_name[path], readers, row.locks, row.pins,
			       2 * (row.locks + row.pins), row.waits);
		}
	}
}

static void locks(void)
{
	double idle[PATHS], busy[PATHS];
	int path;

	setup(HUGE);
	table(false, 20, idle);
	table(true, 20, busy);
	printf("\n(mmap_lock: every acquisition by the reader, of the owner's or of its own)\n");
	for (path = CMA; path < PATHS; path++)
		printf("gamma_8 by counted waiting, %-15s owner idle %.3f, busy %.3f\n", path_name[path], idle[path],
		       busy[path]);
}

/* The minimum of many runs: one without an interrupt. */
static u64 least(enum path path, size_t len)
{
	u64 best = ~0UL;
	int i;

	for (i = 0; i < 40; i++) {
		u64 t = __rdtsc();

		operation(path, len);
		t = __rdtsc() - t;
		best = t < best ? t : best;
	}
	return best;
}

static void alone(enum path path, double *cost64k, double *cost1m)
{
	int channel[2], status;
	u64 results[2];

	register_for(path);
	CHECK(!pipe(channel));
	if (!fork()) {
		prepare_reader(path, HUGE / 2);
		results[0] = least(path, 65536);
		results[1] = least(path, HUGE / 2);
		CHECK(write(channel[1], results, sizeof(results)) == sizeof(results));
		_exit(0);
	}
	CHECK(read(channel[0], results, sizeof(results)) == sizeof(results));
	wait(&status);
	close(channel[0]);
	close(channel[1]);
	parameter("pin_mode", "0");
	*cost64k = results[0];
	*cost1m = results[1];
}

static void instructions(void)
{
	double small[PATHS], large[PATHS], loop, one, eight;
	char *huge;
	int path;

	setup(HUGE);
	for (path = CMA; path < PATHS; path++)
		alone(path, &small[path], &large[path]);
	/* The copy loop alone: the cost of one extent by its length. */
	huge = memory(THP, HUGE);
	memset(huge, 1, HUGE);
	unreg(board->cookie);
	board->cookie = reg(huge, HUGE, KCOLL_READ | KCOLL_EAGER);
	CHECK(board->cookie);
	{
		u64 a, b;

		memset(target, 1, HUGE);
		a = least(CACHED, 65536);
		b = least(CACHED, 131072);
		loop = (double)(b - a);
		printf("copy loop of 64 KiB: %.0f instructions (%.3f a byte); a cached copy of one extent beside it: "
		       "%.0f\n",
		       loop, loop / 65536, a - loop);
	}
	printf("instructions            64 KiB  beyond the loop   1 MiB  beyond the loop\n");
	for (path = CMA; path < PATHS; path++)
		printf("%-20s %9.0f  %15.0f %7.0f  %15.0f\n", path_name[path], small[path],
		       path == MAPPED ? 0.0 : small[path] - loop, large[path],
		       path == MAPPED ? 0.0 : large[path] - 16 * loop);
	printf("cached : cma beyond the loop, 64 KiB: %.3f\n", (small[CACHED] - loop) / (small[CMA] - loop));

	for (path = CMA; path < MAPPED; path++) {
		one = measure(path, HUGE / 2, 1, 20, false).clocks;
		eight = measure(path, HUGE / 2, 8, 20, false).clocks;
		printf("gamma_8 of instructions, %-16s %.3f\n", path_name[path], eight / one);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "instructions"))
		instructions();
	else
		locks();
	return 0;
}
