// SPDX-License-Identifier: BSD-3-Clause
/* Limits of pinned memory, and all pinned memory is released. */
#include <grp.h>
#include <sys/time.h>

#include "kcoll_test.h"

static long vm_pin_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kb = -1;

	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kb);
	fclose(f);
	return kb;
}

/* Unprivileged, with an allowance of so many bytes. */
static void limited(size_t bytes)
{
	struct rlimit limit = {bytes, bytes};

	device();
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK(!setgroups(0, NULL) && !setresgid(1234, 1234, 1234) && !setresuid(1234, 1234, 1234));
	prctl(PR_SET_DUMPABLE, 1);
}

static void wait_unpinned(long pages)
{
	double end = seconds_now() + 60;

	while (pinned_pages() > pages && seconds_now() < end)
		usleep(5000);
	CHECK(pinned_pages() <= pages);
}

TEST(pins_show_as_the_owners)
{
	char *p = memory(SMALL, 4 * HUGE);
	u64 cookie = reg(p, 4 * HUGE, KCOLL_READ | KCOLL_EAGER);

	CHECK(cookie);
	CHECK_EQ(vm_pin_kb(), 4 * 2048);
	CHECK_EQ(pinned_pages(), 2048);
	CHECK(!unreg(cookie));
	CHECK_EQ(vm_pin_kb(), 0);
	CHECK_EQ(pinned_pages(), 0);
}

TEST(the_limit_and_the_capability_are_those_of_the_moment)
{
	struct rlimit limit = {3 * HUGE, 8 * HUGE};
	struct peer peer = peer_new();
	char *p = memory(SMALL, 8 * HUGE);
	u64 cookie;

	fill(p, 8 * HUGE, 1);
	cookie = reg(p, 8 * HUGE, KCOLL_READ); /* by root, who may pin all of it */
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK(!setgroups(0, NULL) && !setresgid(1234, 1234, 1234) && !setresuid(1234, 1234, 1234));
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, 8 * HUGE, 1, 0), 0);
	CHECK(pinned_pages() > 0 && pinned_pages() <= 3 * 512);
	limit.rlim_cur = limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, 8 * HUGE, 1, 0), 0);
	CHECK_EQ(pinned_pages(), 8 * 512);
	peer_end(&peer);
}

TEST(rlimit_is_enforced_and_copies_go_on_uncached)
{
	char *p = memory(SMALL, 8 * HUGE), *x = memory(SMALL, 8 * HUGE);
	struct kcoll_stats s;
	u64 cookie;

	fill(p, 8 * HUGE, 1);
	limited(3 * HUGE);
	cookie = reg(p, 8 * HUGE, KCOLL_READ | KCOLL_WRITE);
	CHECK(cookie);
	CHECK(!copy(cookie, 0, x, 8 * HUGE, KCOLL_READ));
	CHECK(filled(x, 8 * HUGE, 1, 0));
	/* On a slow machine the first pinned set is cold, and dropped, before the copy ends. */
	CHECK(pinned_pages() <= 3 * 512 && vm_pin_kb() <= 3 * 2048);
	CHECK(!stats_get(0, &s));
	CHECK(s.pins >= 3 && s.bytes_uncached > 0);
	CHECK(s.pins * 512 + s.pages_uncached >= 8 * 512);
	CHECK_EQ(s.bytes_uncached, s.pages_uncached * PAGE);
	fill(x, 8 * HUGE, 2);
	CHECK(!copy(cookie, 0, x, 8 * HUGE, KCOLL_WRITE));
	CHECK(filled(p, 8 * HUGE, 2, 0));
	CHECK_ERR(reg(p, 8 * HUGE, KCOLL_READ | KCOLL_EAGER) ? 0 : -1, ENOMEM);
	CHECK(!unreg(cookie));
	wait_unpinned(0);
}

/* A copy brings in a part of a mapping, for which other parts of it are dropped, perhaps the first that it needs. */
static void copy_into_mapping(size_t allowed, size_t n)
{
	char *from = memory(SMALL, HUGE), *to = memory(SMALL, HUGE), *m;
	u64 source, target;

	fill(from, n, 3);
	memset(to, 0, HUGE);
	limited(allowed);
	source = reg(from, HUGE, KCOLL_READ);
	target = reg(to, HUGE, KCOLL_READ | KCOLL_WRITE);
	CHECK(source && target);
	m = map(target, 0, HUGE, PROT_READ | PROT_WRITE);
	CHECK(m != MAP_FAILED);
	alarm(60);
	CHECK(!copy(source, 0, m, n, KCOLL_READ));
	alarm(0);
	CHECK(filled(to, n, 3, 0));
}
TEST(copies_into_mappings_end_without_an_allowance) { copy_into_mapping(0, HUGE / 4); }
TEST(copies_into_mappings_end_with_less_than_a_window) { copy_into_mapping(HUGE / 2, HUGE); }

TEST(the_coldest_set_is_dropped_for_others)
{
	char *p = memory(SMALL, 4 * HUGE), *x = memory(SMALL, HUGE);
	struct kcoll_stats s;
	u64 cookie;
	int i;

	fill(p, 4 * HUGE, 1);
	limited(2 * HUGE);
	cookie = reg(p, 4 * HUGE, KCOLL_READ);
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ) && !copy(cookie, HUGE, x, HUGE, KCOLL_READ));
	CHECK_EQ(pinned_pages(), 1024);
	for (i = 0; i < 8; i++) { /* the second stays warm */
		usleep(250000);
		CHECK(!copy(cookie, HUGE, x, HUGE, KCOLL_READ));
	}
	CHECK(!stats_get(0, &s));
	CHECK_EQ(s.copies_uncached, 0);
	CHECK(!copy(cookie, 2 * HUGE, x, HUGE, KCOLL_READ)); /* uncached, and makes room */
	wait_unpinned(512);
	CHECK(!copy(cookie, 2 * HUGE, x, HUGE, KCOLL_READ));
	CHECK(filled(x, HUGE, 1, 2 * HUGE));
	CHECK(!stats_get(0, &s));
	CHECK_EQ(s.copies_uncached, 1);
	CHECK_EQ(s.pins, 3);
	/* The warm one was not dropped. */
	CHECK(!copy(cookie, HUGE, x, HUGE, KCOLL_READ));
	CHECK(!stats_get(0, &s));
	CHECK_EQ(s.pins, 3);
	CHECK_EQ(s.copies_uncached, 1);
}

/* Only the unused set of many is dropped, at any position in the lists. */
TEST(only_the_cold_set_of_many_is_dropped)
{
	enum { MANY = 150, COLD = 77 };
	char *p = memory(SMALL, (MANY + 1) * HUGE), x[2 * PAGE];
	struct kcoll_stats before, after;
	u64 cookie;
	int i, round;

	limited(MANY * sizeof(x));
	cookie = reg(p, (MANY + 1) * HUGE, KCOLL_READ);
	for (i = 0; i < MANY; i++)
		CHECK(!copy(cookie, i * HUGE, x, sizeof(x), KCOLL_READ));
	CHECK_EQ(pinned_pages(), MANY * 2);
	for (round = 0; round < 12; round++) {
		usleep(150000);
		for (i = 0; i < MANY; i++)
			CHECK(i == COLD || !copy(cookie, i * HUGE, x, sizeof(x), KCOLL_READ));
	}
	CHECK(!copy(cookie, MANY * HUGE, x, sizeof(x), KCOLL_READ)); /* uncached, and makes room */
	wait_unpinned((MANY - 1) * 2);
	CHECK_EQ(pinned_pages(), (MANY - 1) * 2);
	CHECK(!stats_get(0, &before));
	for (i = 0; i < MANY; i++)
		CHECK(i == COLD || !copy(cookie, i * HUGE, x, sizeof(x), KCOLL_READ));
	CHECK(!stats_get(0, &after));
	CHECK_EQ(after.pins, before.pins);
	CHECK_EQ(after.copies_uncached, before.copies_uncached);
}

/* Pages wait for the delay that was set when they were dropped, independent of others; a reader that needs them does
 * not wait.
 */
TEST(each_set_waits_for_its_own_delay)
{
	char *p = memory(SMALL, 3 * HUGE), *x = memory(SMALL, HUGE);
	u64 cookie[3];
	int i;

	for (i = 0; i < 3; i++) {
		cookie[i] = reg(p + i * HUGE, HUGE, KCOLL_READ);
		CHECK(!copy(cookie[i], 0, x, HUGE, KCOLL_READ));
	}
	CHECK_EQ(pinned_pages(), 3 * 512);
	for (i = 0; i < 3; i++) {
		parameter("unpin_delay_ms", i == 0 ? "500000" : i == 1 ? "400000" : "10");
		CHECK(!madvise(p + i * HUGE, PAGE, MADV_DONTNEED));
		CHECK(!sync_region(cookie[i], NULL));
		usleep(200000); /* grace periods, until the last user has certainly left */
	}
	parameter("unpin_delay_ms", "20");
	wait_unpinned(2 * 512);
	usleep(200000);
	CHECK_EQ(pinned_pages(), 2 * 512);
	CHECK(!unreg(cookie[1]));
	wait_unpinned(0);
	CHECK(!unreg(cookie[0]));
}

static void ignore_it(int signal) {}

/*
 * A fault for which there is no allowance waits for pages. A process that gets signals meanwhile goes on, too: where
 * the program touches the mapping, and where a system call does, which no signal handler can interrupt.
 */
static void faults_between_signals(bool system_call)
{
	enum { WINDOWS = 4 };
	struct sigaction act = {.sa_handler = ignore_it, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 1000}, {0, 1000}}, never = {};
	char *p = memory(SMALL, WINDOWS * HUGE), *m;
	int i, zero = open("/dev/zero", O_RDONLY);
	u64 cookie;

	fill(p, WINDOWS * HUGE, 1);
	limited(0);
	cookie = reg(p, WINDOWS * HUGE, KCOLL_READ | KCOLL_WRITE);
	m = map(cookie, 0, WINDOWS * HUGE, PROT_READ | PROT_WRITE);
	CHECK(m != MAP_FAILED && zero >= 0);
	CHECK(!sigaction(SIGALRM, &act, NULL) && !setitimer(ITIMER_REAL, &often, NULL));
	for (i = 0; i < WINDOWS; i++) {
		if (system_call)
			CHECK_EQ(read(zero, m + i * HUGE, 100), 100);
		else
			memset(m + i * HUGE, 0, 100);
	}
	CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	for (i = 0; i < WINDOWS; i++)
		CHECK(!memcmp(p + i * HUGE, (char[100]){}, 100));
}
TEST(faults_succeed_between_signals) { faults_between_signals(false); }
TEST(faults_of_system_calls_succeed_between_signals) { faults_between_signals(true); }

TEST(memlock_can_be_counted_only_or_ignored)
{
	char *p = memory(SMALL, 4 * HUGE);
	int status;

	parameter("memlock", "1");
	if (!fork()) {
		dev = -1;
		limited(HUGE);
		CHECK(reg(p, 4 * HUGE, KCOLL_READ | KCOLL_EAGER));
		CHECK_EQ(vm_pin_kb(), 4 * 2048);
		_exit(0);
	}
	wait(&status);
	CHECK_EQ(status, 0);
	parameter("memlock", "2");
	if (!fork()) {
		dev = -1;
		limited(HUGE);
		CHECK(reg(p, 4 * HUGE, KCOLL_READ | KCOLL_EAGER));
		CHECK_EQ(vm_pin_kb(), 0);
		_exit(0);
	}
	wait(&status);
	parameter("memlock", "0");
	CHECK_EQ(status, 0);
}

TEST(max_pinned_mb)
{
	char *p = memory(SMALL, 8 * HUGE), *x = memory(SMALL, 8 * HUGE);
	u64 cookie;

	fill(p, 8 * HUGE, 1);
	parameter("max_pinned_mb", "6");
	cookie = reg(p, 8 * HUGE, KCOLL_READ);
	CHECK(!copy(cookie, 0, x, 8 * HUGE, KCOLL_READ) && filled(x, 8 * HUGE, 1, 0));
	parameter("max_pinned_mb", "0");
	CHECK(pinned_pages() <= 3 * 512);
	CHECK(!copy(cookie, 0, x, 8 * HUGE, KCOLL_READ) && filled(x, 8 * HUGE, 1, 0));
	/* A set of before that began behind a missing page of x is replaced, and unpinned a little later. */
	wait_unpinned(8 * 512);
	CHECK_EQ(pinned_pages(), 8 * 512);
}

TEST(never_pinning)
{
	char *p = memory(SMALL, HUGE), *x = memory(SMALL, HUGE);
	u64 cookie;

	fill(p, HUGE, 1);
	parameter("pin_mode", "2");
	cookie = reg(p, HUGE, KCOLL_READ);
	CHECK(!copy(cookie, 100, x, HUGE - 100, KCOLL_READ) && filled(x, HUGE - 100, 1, 100));
	CHECK_EQ(pinned_pages(), 0);
	parameter("pin_mode", "1");
	CHECK(reg(p, HUGE, KCOLL_READ));
	CHECK_EQ(pinned_pages(), 512);
	parameter("pin_mode", "0");
}

/* The pins of an owner end with it, however it dies and whichever peer copies. The machine checks the sum at its end.
 */
TEST(nothing_stays_pinned_after_the_owner)
{
	struct kcoll_stats s;
	double end;
	int i;

	for (i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			char *p = memory(i % 2 ? THP : SMALL, 2 * HUGE), *x = memory(SMALL, 2 * HUGE);
			u64 cookie;

			dev = -1;
			memset(p, 1, 2 * HUGE);
			cookie = reg(p, 2 * HUGE, KCOLL_READ | KCOLL_WRITE | (i % 3 ? KCOLL_EAGER : 0));
			copy(cookie, 5, x, HUGE, KCOLL_READ);
			if (i % 4 == 1)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	for (end = seconds_now() + 60; seconds_now() < end; usleep(10000)) {
		CHECK(!stats_get(KCOLL_STATS_ALL, &s));
		if (s.pin_pages == s.unpin_pages)
			return;
	}
	CHECK_EQ(s.pin_pages, s.unpin_pages);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
