// SPDX-License-Identifier: BSD-3-Clause
/*
 * The gate: how many tasks pin in one owner at once, in which order, and leaving the queue.
 *
 * The owner's pages are missing, and this program answers their faults (userfaultfd). A task that pins such a page
 * stays inside the gate until the answer, and the fault identifies the task; so this program knows and decides which
 * are inside.
 */
#include <pthread.h>

#include "kcoll_test.h"

enum { READERS = 6, NO_READER = -1 };

static char *area; /* missing pages, one for each reader */
static int faults; /* descriptor that reports their faults */
static u64 area_cookie;

static u64 reg_gated(void *addr, size_t len, u32 limit)
{
	struct kcoll_register args = {
	    .size = sizeof(args), .flags = KCOLL_READ, .addr = (u64)addr, .len = len, .gate_limit = limit};

	CHECK(!ioctl(device(), KCOLL_REGISTER, &args));
	return args.cookie;
}

/* Copies go uncached from now on, so that each passes the gate. */
static void scene(u32 limit)
{
	parameter("pin_mode", "2");
	area = memory_missing(HUGE, &faults);
	area_cookie = reg_gated(area, HUGE, limit);
	trace_begin("kcoll_gate/enable");
}

static void scene_end(void)
{
	trace_end("kcoll_gate/enable");
	parameter("pin_mode", "0");
}

/* A process that reads a word of a page, for which it has to pin that page. */
static pid_t reader(int page)
{
	pid_t pid = fork();
	u64 word;

	CHECK(pid >= 0);
	if (!pid) {
		dev = -1;
		_exit(copy(area_cookie, page * PAGE, &word, sizeof(word), KCOLL_READ) || word != (u64)page + 1);
	}
	return pid;
}

/* Returns the reader whose page is being pinned and was not before; NO_READER: none within the time. */
static int entered(int ms) { return missing_asked(faults, area, ms); }
enum { SOON = 60000, EVER = 100 }; /* time limits for events that must happen, and for those that must not */

static void answer(int page) { missing_give(faults, area, page, page + 1); }

/* Counts the tasks that have waited since the trace was cleared. */
static int queued(void) { return file_count(TRACE, "kcoll_gate: waits:"); }

static void wait_queued(int n)
{
	double end = seconds_now() + SOON / 1000;

	while (queued() < n && seconds_now() < end)
		usleep(1000);
	CHECK_EQ(queued(), n);
}

static void succeeds(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void dies(pid_t pid)
{
	int status;

	CHECK(!kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
}

/* One at a time: the first is inside, the others wait in their order. */
static void queue_up(pid_t *pids)
{
	int i;

	scene(1);
	pids[0] = reader(0);
	CHECK_EQ(entered(SOON), 0);
	for (i = 1; i < READERS; i++) {
		pids[i] = reader(i);
		wait_queued(i);
	}
}

TEST(waiters_enter_in_order_of_arrival)
{
	pid_t pids[READERS];
	int i;

	queue_up(pids);
	CHECK_EQ(file_count(TRACE, "waits: active=1 limit=1"), READERS - 1);
	for (i = 0; i < READERS; i++) {
		CHECK_EQ(entered(EVER), NO_READER);
		answer(i);
		succeeds(pids[i]);
		if (i + 1 < READERS)
			CHECK_EQ(entered(SOON), i + 1);
	}
	scene_end();
}

/* Exactly `limit` readers are inside while others wait: the limit of the region, or else that of the module. */
static void holds(u32 region_limit, const char *module_limit, int limit)
{
	pid_t pids[READERS];
	int i, inside = 0, answered = 0;
	int queue[READERS];

	parameter("gate_limit", module_limit);
	scene(region_limit);
	for (i = 0; i < READERS; i++) {
		pids[i] = reader(i);
		if (i >= limit)
			wait_queued(i - limit + 1);
		else
			CHECK_EQ(queue[inside++] = entered(SOON), i);
	}
	while (answered < READERS) {
		CHECK_EQ(entered(EVER), NO_READER);
		CHECK_EQ(inside - answered, READERS - answered < limit ? READERS - answered : limit);
		answer(queue[answered]);
		succeeds(pids[queue[answered++]]);
		if (inside < READERS)
			queue[inside++] = entered(SOON);
	}
	scene_end();
	parameter("gate_limit", "0");
}
TEST(a_region_s_limit_holds)
{
	holds(1, "0", 1);
	holds(2, "5", 2);
}
TEST(the_module_s_limit_holds) { holds(0, "3", 3); }

TEST(a_raised_limit_is_noticed)
{
	pid_t pids[5];
	int i;

	parameter("gate_limit", "1");
	scene(0);
	for (i = 0; i < 4; i++)
		pids[i] = reader(i);
	wait_queued(3);
	i = entered(SOON);
	CHECK(i >= 0 && i < 4);
	CHECK_EQ(entered(EVER), NO_READER);
	parameter("gate_limit", "3");
	pids[4] = reader(4); /* a new task reads the limit again, and waits behind the others */
	CHECK(entered(SOON) != 4 && entered(SOON) != 4);
	CHECK_EQ(entered(EVER), NO_READER);
	for (i = 0; i < 5; i++)
		answer(i);
	for (i = 0; i < 5; i++)
		succeeds(pids[i]);
	scene_end();
	parameter("gate_limit", "0");
}

TEST(a_killed_waiter_does_not_hold_up_the_others)
{
	pid_t pids[READERS];

	queue_up(pids);
	/* Kills one from the middle and the first of the queue, while no task leaves. */
	dies(pids[3]);
	dies(pids[1]);
	CHECK_EQ(entered(EVER), NO_READER);
	answer(0);
	succeeds(pids[0]);
	CHECK_EQ(entered(SOON), 2);
	/* Kills one that is inside: its place goes to the next. */
	dies(pids[2]);
	CHECK_EQ(entered(SOON), 4);
	answer(4);
	succeeds(pids[4]);
	CHECK_EQ(entered(SOON), 5);
	answer(5);
	succeeds(pids[5]);
	scene_end();
}

/* --- the adaptive limit --- */

static int next_page;

/* Admits READERS tasks; returns how many are inside at once. */
static int admit(void)
{
	int i, inside = 0, first = next_page;
	pid_t pids[READERS];

	next_page += READERS;
	file_set(TRACE, "");
	for (i = 0; i < READERS; i++)
		pids[i] = reader(first + i);
	/* Every task gets in or into the queue. */
	while (inside + queued() < READERS)
		inside += entered(10) != NO_READER;
	while (entered(0) != NO_READER)
		inside++;
	for (i = 0; i < READERS; i++)
		answer(first + i);
	for (i = 0; i < READERS; i++)
		succeeds(pids[i]);
	while (entered(0) != NO_READER)
		;
	return inside;
}

/*
 * Returns how many tasks are admitted at once. The others then leave with a free lock and with a task in the queue. The
 * gate lets one more in where none leaves for two seconds: what took so long is repeated.
 */
static int admitted(void)
{
	double start;
	int inside;

	do {
		start = seconds_now();
		inside = admit();
	} while (seconds_now() - start > 1.5 && next_page + READERS < (int)(HUGE / PAGE));
	return inside;
}

static volatile bool stop;

/* Holds the owner's mmap_lock, nearly always. */
static void *changes_its_memory(void *unused)
{
	size_t len = getenv("KCOLL_SLOW") ? HUGE : 8 * HUGE; /* each read waits for one such change */
	char *p = memory(SMALL, len);

	memset(p, 1, len);
	while (!stop) {
		CHECK(!mprotect(p, len, PROT_READ));
		CHECK(!mprotect(p, len, PROT_READ | PROT_WRITE));
	}
	return NULL;
}

static void reads_under_contention(u64 cookie, int times)
{
	pid_t pids[READERS];
	int i, k;

	for (i = 0; i < READERS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			u64 word;

			dev = -1;
			for (k = 0; k < times; k++)
				CHECK(!copy(cookie, i * PAGE, &word, sizeof(word), KCOLL_READ));
			_exit(0);
		}
	}
	for (i = 0; i < READERS; i++)
		succeeds(pids[i]);
}

TEST(the_limit_adapts_to_waits_for_the_lock)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), start = cpus < 4 ? cpus : 4, i, limit;
	char *p = memory(SMALL, HUGE);
	pthread_t threads[2];
	u64 cookie;

	if (cpus < 2)
		skip("one processor");
	memset(p, 1, HUGE);
	scene(0);
	cookie = reg_gated(p, HUGE, 0);
	CHECK_EQ(admitted(), start);

	/* Waiting for the lock takes longer than the work under it: down to one. A step takes 16 passes. */
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, changes_its_memory, NULL));
	for (i = 0, limit = start; i < 20 && limit > 1; i++) {
		reads_under_contention(cookie, 16);
		limit = admitted();
	}
	stop = true;
	CHECK_EQ(limit, 1);
	CHECK(!pthread_join(threads[0], NULL) && !pthread_join(threads[1], NULL));

	/* The lock is free and there is a queue: up again. admitted() makes 6 passes of that sort. */
	for (i = 0; i < 20 && limit < start; i++)
		limit = admitted();
	printf("# back at %d after %d passes\n", limit, i * READERS);
	CHECK_EQ(limit, start);
	CHECK(i * READERS >= 16 * (start - 2));
	scene_end();
}

/* As many as the gate lets in wait for pages that do not come; what needs other pages gets in beside them. */
TEST(pages_that_never_come_hold_up_no_others)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), limit = cpus < 4 ? cpus : 4, i;
	char *p = memory(SMALL, HUGE), byte;
	pid_t pids[READERS];
	double start;
	u64 cookie;

	memset(p, 5, HUGE);
	scene(0);
	cookie = reg_gated(p, HUGE, 0);
	for (i = 0; i < limit; i++) {
		pids[i] = reader(i);
		CHECK_EQ(entered(SOON), i);
	}
	start = seconds_now();
	CHECK(!copy(cookie, 0, &byte, 1, KCOLL_READ) && byte == 5);
	printf("# the first copy beside them took %.1f s\n", seconds_now() - start);
	/* They do not count any more: the next ones do not wait. */
	start = seconds_now();
	for (i = 0; i < 20; i++)
		CHECK(!copy(cookie, i * PAGE, &byte, 1, KCOLL_READ));
	CHECK(seconds_now() - start < 10);
	for (i = 0; i < limit; i++) {
		answer(i);
		succeeds(pids[i]);
	}
	scene_end();
}

/* --- many tasks --- */

static long p_reads(long *a) /* cookie, times */
{
	static char buffer[HUGE];
	int i;

	/* A missing page would make copies pin again after it was read in. */
	memset(buffer, 1, sizeof(buffer));
	for (i = 0; i < a[1]; i++)
		if (copy(a[0], 0, buffer, sizeof(buffer), KCOLL_READ))
			return -errno;
	return !filled(buffer, sizeof(buffer), 7, 0);
}

/* Runs 6 readers that must pin, with this limit; counts how many were inside at once, by bucket. */
static void concurrent_pins(u32 limit, struct kcoll_stats *change)
{
	char *p = memory(SMALL, HUGE);
	struct kcoll_stats before;
	struct peer peers[READERS];
	u64 cookie;
	int i;

	fill(p, HUGE, 7);
	parameter("pin_mode", "2");
	cookie = reg_gated(p, HUGE, limit);
	CHECK(!stats_get(KCOLL_STATS_ALL, &before));
	for (i = 0; i < READERS; i++)
		peers[i] = peer_new();
	for (i = 0; i < READERS; i++)
		peer_start(&peers[i], p_reads, cookie, 30);
	for (i = 0; i < READERS; i++)
		CHECK_EQ(peer_result(&peers[i]), 0);
	CHECK(!stats_get(KCOLL_STATS_ALL, change));
	parameter("pin_mode", "0");
	for (i = 0; i < KCOLL_CONC_BUCKETS; i++)
		change->conc_pages[i] -= before.conc_pages[i];
	for (i = 0; i < READERS; i++)
		peer_end(&peers[i]);
}

TEST(statistics_count_how_many_pinned_at_once)
{
	struct kcoll_stats one, two;

	concurrent_pins(1, &one);
	CHECK_EQ(one.conc_pages[0], READERS * 30 * 512);
	CHECK_EQ(one.conc_pages[1] + one.conc_pages[2] + one.conc_pages[3], 0);
	concurrent_pins(2, &two);
	CHECK_EQ(two.conc_pages[0] + two.conc_pages[1], READERS * 30 * 512);
	CHECK_EQ(two.conc_pages[2] + two.conc_pages[3], 0);
}

/* One place and eight tasks that always want it: some are killed while they wait, some inside. */
TEST(killed_at_any_moment)
{
	char *p = memory(SMALL, 4 * HUGE), byte;
	pid_t pids[8];
	u64 cookie;
	int i, round;

	memset(p, 1, 4 * HUGE);
	parameter("pin_mode", "2");
	cookie = reg_gated(p, 4 * HUGE, 1);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 8; i++) {
			pids[i] = fork();
			if (!pids[i]) {
				char *x = memory(SMALL, 4 * HUGE);

				dev = -1;
				for (;;)
					copy(cookie, 0, x, 4 * HUGE, KCOLL_READ);
			}
		}
		usleep(50000);
		for (i = 0; i < 8; i++)
			dies(pids[(i * 5) % 8]);
		/* No killed task has kept a place. */
		CHECK(!copy(cookie, 0, &byte, 1, KCOLL_READ));
	}
	parameter("pin_mode", "0");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
