// SPDX-License-Identifier: BSD-3-Clause
/* Faults of mappings: that meet in the same 2 MiB, single pages there and all of it as one; of pages that others hold.
 */
#include <pthread.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "kcoll_test.h"

enum { MEETINGS = 20, ZAPPED = 64, MAPPINGS = 400 };

static char *region_memory, *fresh;
static u64 cookie;

/* What the kernel says where a page and 2 MiB, or the other way round, are inserted in one place. */
static int collisions(void)
{
	static const char *const texts[] = {"VM_FAULT_OOM leaked", "insert_pfn_pmd"};
	static char log[1 << 20];
	int n = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, sizeof(log) - 1), count = 0;
	unsigned int i;

	CHECK(n >= 0);
	log[n] = '\0';
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *at = log;

		while ((at = strstr(at, texts[i]))) {
			count++;
			at++;
		}
	}
	return count;
}

struct store {
	pthread_t thread;
	char *at;
	volatile pid_t tid; /* -1: done */
};

static void *store(void *arg)
{
	struct store *self = arg;

	self->tid = syscall(SYS_gettid);
	*(volatile char *)self->at = 1;
	self->tid = -1;
	return NULL;
}

/* Whether a store waits in the kernel, for a lock. */
static bool waits(const struct store *self)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", self->tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state == 'D';
}

/* Starts a store; returns when it waits, or is done. */
static void store_start(struct store *self, size_t offset)
{
	self->at = fresh + offset;
	self->tid = 0;
	CHECK(!pthread_create(&self->thread, NULL, store, self));
	while (self->tid >= 0 && !(self->tid && waits(self)))
		sched_yield();
}

/* Sets of many windows, in many mappings, are dropped together: until that is done, faults of the region wait. */
static void hold_faults(void)
{
	char x[2 * PAGE];
	int i;

	for (i = 1; i <= ZAPPED; i++)
		CHECK(!copy(cookie, i * HUGE, x, sizeof(x), KCOLL_READ));
	CHECK(!mprotect(region_memory + HUGE, ZAPPED * HUGE, PROT_READ));
	CHECK(!mprotect(region_memory + HUGE, ZAPPED * HUGE, PROT_READ | PROT_WRITE));
}

static void map_once_more(int n)
{
	while (n--)
		CHECK(map(cookie, HUGE, ZAPPED * HUGE, PROT_READ) != MAP_FAILED);
}

/* huge_map decides which way a fault goes before it waits. Returns whether both waited at the same time. */
static bool faults_meet(bool pages_first)
{
	struct store one, two;
	bool both;

	fresh = map(cookie, 0, HUGE, PROT_READ | PROT_WRITE);
	CHECK(fresh != MAP_FAILED);
	CHECK((u64)fresh % HUGE == 0);
	hold_faults();
	parameter("huge_map", pages_first ? "N" : "Y");
	store_start(&one, 0);
	parameter("huge_map", pages_first ? "Y" : "N");
	store_start(&two, 5 * PAGE);
	both = one.tid > 0 && waits(&one) && two.tid > 0 && waits(&two);
	parameter("huge_map", "Y");
	CHECK(!pthread_join(one.thread, NULL) && !pthread_join(two.thread, NULL));
	CHECK_EQ(region_memory[0], 1);
	CHECK_EQ(region_memory[5 * PAGE], 1);
	region_memory[0] = region_memory[5 * PAGE] = 0;
	munmap(fresh, HUGE);
	return both;
}

TEST(pages_and_2_mib_do_not_meet_in_one_place)
{
	struct kcoll_info info = {.size = sizeof(info)};
	size_t len = (ZAPPED + 1) * HUGE;
	char *x = memory(SMALL, HUGE);
	int met = 0, mappings, before;

	CHECK(!ioctl(device(), KCOLL_INFO, &info));
	if (!(info.features & KCOLL_FEATURE_HUGE_MAP))
		skip("this kernel maps single pages only");
	region_memory = memory(SMALL, len);
	CHECK(!madvise(region_memory, HUGE, MADV_HUGEPAGE));
	memset(region_memory, 0, HUGE);
	cookie = reg(region_memory, len, KCOLL_READ | KCOLL_WRITE);
	CHECK(cookie);
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ));
	before = collisions();
	for (mappings = 0; met < MEETINGS && mappings < 60000;) {
		if (faults_meet(met % 2)) {
			met++;
		} else {
			map_once_more(MAPPINGS);
			mappings += MAPPINGS;
		}
	}
	printf("# %d times two faults waited, with %d mappings to zap\n", met, mappings);
	CHECK_EQ(met, MEETINGS);
	CHECK_EQ(collisions(), before);
}

/* --- memory from which a pin has to move its pages, which it cannot while others hold them --- */

static bool block_set(int block, const char *state)
{
	char path[64];
	int file, n;

	snprintf(path, sizeof(path), "/sys/devices/system/memory/memory%d/state", block);
	file = open(path, O_WRONLY);
	n = file < 0 ? -1 : write(file, state, strlen(state));
	close(file);
	return n > 0;
}

/* Of 128 MiB, from which user pages are then taken first. */
static int movable_block(void)
{
	int block;

	for (block = 64; block > 2; block--) {
		if (!block_set(block, "offline"))
			continue;
		if (block_set(block, "online_movable"))
			return block;
		block_set(block, "online");
	}
	skip("no memory can be made movable here");
}

static void ordinary_again(int block)
{
	CHECK(block_set(block, "offline"));
	CHECK(block_set(block, "online_kernel") || block_set(block, "online"));
}

enum { HELD = 100, PAGES = HUGE / PAGE };

static void ignore(int signal) {}

/*
 * Signals that come again and again end neither a wait for a page nor its limit: not in the program, nor in the kernel,
 * whose own faults go on with signals pending.
 */
static void held_under_signals(void)
{
	struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 5000}, {0, 5000}}, never = {};
	double start;
	int pipes[2];
	char *m;

	CHECK(!sigaction(SIGALRM, &action, NULL) && !pipe(pipes));
	m = map_quiet(cookie, HELD * PAGE, PAGE, PROT_READ);
	CHECK(m != MAP_FAILED);
	start = seconds_now();
	CHECK(!setitimer(ITIMER_REAL, &often, NULL));
	printf("# after signals it shows %d\n", *m);
	printf("# %.1f s\n", seconds_now() - start);
	CHECK(!munmap(m, PAGE));
	m = map(cookie, HELD * PAGE, PAGE, PROT_READ);
	CHECK(m != MAP_FAILED);
	CHECK_ERR(write(pipes[1], m, 1), EFAULT);
	printf("# %.1f s\n", seconds_now() - start);
	CHECK(seconds_now() - start < 20);
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	CHECK(!munmap(m, PAGE) && !close(pipes[0]) && !close(pipes[1]));
}

TEST(a_page_that_others_hold_fails_alone)
{
	int block = movable_block(), pipes[2], i;
	char *p = memory(SMALL, HUGE), *m;
	struct kcoll_stats before, after;
	u64 gen = 0;

	memset(p, 7, HUGE);
	CHECK(!pipe(pipes));
	CHECK_EQ(vmsplice(pipes[1], &(struct iovec){p + HELD * PAGE, PAGE}, 1, 0), PAGE);
	cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE);
	m = map_quiet(cookie, 0, HUGE, PROT_READ | PROT_WRITE);
	CHECK(cookie && m != MAP_FAILED);
	for (i = 0; i < PAGES; i++)
		if (i != HELD)
			CHECK_EQ(m[i * PAGE], 7);
	/* Back and forth across it: both sides stay pinned. */
	CHECK(!stats_get(KCOLL_STATS_ALL, &before));
	for (i = 0; i < 100; i++) {
		CHECK(m[(HELD - 1) * PAGE] == 7 && m[(HELD + 1) * PAGE] == 7);
		gen = 0;
		CHECK(!sync_region(cookie, &gen)); /* what was dropped is shown no more */
	}
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	CHECK_EQ(after.pins, before.pins);
	gen = 0;
	/* It is waited for, for about a second. */
	printf("# the page that is held shows %d\n", m[HELD * PAGE]);
	held_under_signals();
	close(pipes[0]);
	close(pipes[1]);
	CHECK(!sync_region(cookie, &gen));
	CHECK_EQ(m[HELD * PAGE], 7);
	m[HELD * PAGE] = 8;
	CHECK_EQ(p[HELD * PAGE], 8);
	CHECK(!unreg(cookie));
	munmap(p, HUGE);
	ordinary_again(block);
}

/* Pages between many that cannot be pinned, those before them and those behind them, once more in the other order. */
TEST(many_holes_raise_no_signal)
{
	char *p = memory(SMALL, HUGE), *m;
	int i;

	memset(p, 7, HUGE);
	for (i = 8; i < PAGES; i += 16)
		CHECK(!mprotect(p + i * PAGE, PAGE, PROT_NONE));
	cookie = reg(p, HUGE, KCOLL_READ);
	m = map(cookie, 0, HUGE, PROT_READ);
	CHECK(cookie && m != MAP_FAILED);
	for (i = PAGES - 1; i >= 0; i--)
		if (i % 16 != 8)
			CHECK_EQ(m[i * PAGE], 7);
	for (i = 0; i < PAGES; i++)
		if (i % 16 != 8)
			CHECK_EQ(m[i * PAGE], 7);
	CHECK(!unreg(cookie));
}

TEST(a_reader_beside_it_raises_no_signal)
{
	int block = movable_block(), rounds;
	char *p = memory(SMALL, HUGE), *x = memory(SMALL, HUGE);
	double until = seconds_now() + (getenv("KCOLL_SLOW") ? 20 : 5);
	pid_t reader, owner = getpid();

	memset(x, 0, HUGE);
	reader = fork();
	if (!reader)
		for (;;)
			process_vm_readv(owner, &(struct iovec){x, HUGE}, 1, &(struct iovec){p, HUGE}, 1, 0);
	for (rounds = 0; seconds_now() < until; rounds++) {
		char *m;
		int i;

		madvise(p, HUGE, MADV_DONTNEED);
		memset(p, 7, HUGE);
		cookie = reg(p, HUGE, KCOLL_READ);
		m = map(cookie, 0, HUGE, PROT_READ);
		CHECK(cookie && m != MAP_FAILED);
		for (i = 0; i < PAGES; i += 8)
			CHECK_EQ(m[i * PAGE], 7);
		munmap(m, HUGE);
		CHECK(!unreg(cookie));
	}
	printf("# %d mappings\n", rounds);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	munmap(p, HUGE);
	munmap(x, HUGE);
	ordinary_again(block);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
