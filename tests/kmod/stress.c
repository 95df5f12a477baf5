// SPDX-License-Identifier: BSD-3-Clause
/* Owners and peers that die at any moment, and a module that is unloaded once it has no users. */
#include <pthread.h>
#include <setjmp.h>
#include <sys/syscall.h>

#include "kcoll_test.h"

enum { OWNERS = 4, PEERS = 6 };

struct board {
	volatile u64 cookies[OWNERS];
	volatile u64 copies, maps;
};
static struct board *board;

static void owner(int self)
{
	size_t len = 3 * HUGE;
	char *p = memory(self % 3 == 0 ? SMALL : self % 3 == 1 ? THP : SHMEM, len);

	dev = -1;
	for (;;) {
		u64 cookie;
		int i;

		memset(p, self, len);
		cookie = reg(p, len, KCOLL_READ | KCOLL_WRITE | (test_random() % 2 ? KCOLL_EAGER : 0));
		if (!cookie)
			_exit(1);
		board->cookies[self] = cookie;
		for (i = test_random() % 20; i > 0; i--) {
			usleep(test_random() % (getenv("KCOLL_SLOW") ? 50000 : 5000));
			if (test_random() % 3 == 0)
				madvise(p + test_random() % 3 * HUGE, HUGE, MADV_DONTNEED);
			if (test_random() % 8 == 0 && !fork())
				_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		unreg(cookie);
	}
}

static void peer(int self)
{
	size_t len = 3 * HUGE;
	char *x = memory(SMALL, len);

	dev = -1;
	signal(SIGBUS, SIG_DFL);
	for (;;) {
		u64 cookie = board->cookies[test_random() % OWNERS];
		size_t n = test_random() % len, at = test_random() % (len - n);

		if (self % 3 == 2) {
			char *m = map(cookie, 0, len, PROT_READ | PROT_WRITE);

			if (m == MAP_FAILED)
				continue;
			/* May die of SIGBUS here: the owner ended it. The test starts another. */
			memset(m + at, self, n);
			munmap(m, len);
			__sync_fetch_and_add(&board->maps, 1);
		} else if (!copy(cookie, at, x, n, self % 3 ? KCOLL_WRITE : KCOLL_READ)) {
			__sync_fetch_and_add(&board->copies, 1);
		}
	}
}

static pid_t start(int i)
{
	pid_t pid = fork();
	int k;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (k = 0; k < i * 5 + (int)(seconds_now() * 1000) % 97; k++)
		test_random();
	if (i < OWNERS)
		owner(i);
	peer(i);
	_exit(0);
}

static void run_for(double seconds)
{
	int i, pause_us = getenv("KCOLL_SLOW") ? 200000 : 20000;
	double end = seconds_now() + seconds;
	pid_t pids[OWNERS + PEERS];

	for (i = 0; i < OWNERS + PEERS; i++)
		pids[i] = start(i);
	/* On a slow machine all may die before anything was copied: then continue for a while. */
	while (seconds_now() < end || ((!board->copies || !board->maps) && seconds_now() < end + 4 * seconds)) {
		usleep(pause_us);
		for (i = 0; i < OWNERS + PEERS; i++)
			if (waitpid(pids[i], NULL, WNOHANG) == pids[i])
				pids[i] = start(i);
		i = test_random() % (OWNERS + PEERS);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		pids[i] = start(i);
	}
	for (i = 0; i < OWNERS + PEERS; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < OWNERS + PEERS; i++)
		waitpid(pids[i], NULL, 0);
}

static void board_new(void)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
}

TEST(all_processes_die_at_some_time)
{
	board_new();
	run_for(getenv("KCOLL_SLOW") ? 30 : 10);
	printf("# %llu copies, %llu mappings\n", (unsigned long long)board->copies, (unsigned long long)board->maps);
	CHECK(board->copies > 0 && board->maps > 0);
}

/* --- domains --- */

enum { MEMBERS = 8, KEYS = 3, MEMBER_PAGES = 512 };

static volatile sig_atomic_t inside;
static sigjmp_buf back;

static void on_bus(int signal)
{
	if (!inside)
		_exit(3);
	siglongjmp(back, 1);
}

static char *volatile touched;

/* Loads or stores every page; a region that has ended raises SIGBUS. */
static void touch(char *m, int write)
{
	volatile int i;

	touched = m;
	inside = write ? 2 : 1;
	if (!sigsetjmp(back, 1)) {
		for (i = 0; i < MEMBER_PAGES; i++) {
			if (inside == 2)
				*(volatile char *)(touched + i * PAGE) = 1;
			else
				(void)*(volatile char *)(touched + i * PAGE);
		}
	}
	inside = 0;
}

static u64 any_cookie(void) { return board->cookies[test_random() % OWNERS]; }

static char *random_mapping(void)
{
	size_t len = MEMBER_PAGES * PAGE;
	char *m = test_random() % 2 ? map(any_cookie(), 0, len, PROT_READ | PROT_WRITE)
				    : map_quiet(any_cookie(), 0, len, PROT_READ | PROT_WRITE);

	return m == MAP_FAILED ? NULL : m;
}

static void change_memory(char *p)
{
	size_t at = test_random() % MEMBER_PAGES * PAGE, len = MEMBER_PAGES * PAGE - at;

	switch (test_random() % 4) {
	case 0: madvise(p + at, len, MADV_DONTNEED); break;
	case 1: mprotect(p + at, len, PROT_READ), mprotect(p + at, len, PROT_READ | PROT_WRITE); break;
	case 2: mmap(p + at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); break;
	default:
		if (!fork())
			_exit(0);
	}
}

/* --- threads on one descriptor, which others close, join and replace under them --- */

enum { RACERS = 4, SHARED_FD = 100, COMMANDS = 7 };
static volatile bool race_over;
static volatile u64 race_cookie;
static char *race_memory;
static u64 race_done[COMMANDS];
static __thread volatile bool racer_inside;
static __thread sigjmp_buf racer_back;

static void racer_on_bus(int signal)
{
	if (!racer_inside)
		_exit(3);
	siglongjmp(racer_back, 1);
}

static int race_map(void)
{
	struct kcoll_attach at = {.size = sizeof(at), .cookie = race_cookie};
	char *m;

	if (ioctl(SHARED_FD, KCOLL_ATTACH, &at))
		return errno == ENOENT ? 1 : -1;
	m = mmap(NULL, HUGE, PROT_READ, MAP_SHARED, SHARED_FD, at.map_offset);
	if (m == MAP_FAILED) /* another descriptor, or the region has ended */
		return errno == EACCES || errno == ENOENT ? 1 : -1;
	racer_inside = true;
	if (!sigsetjmp(racer_back, 1))
		(void)*(volatile char *)m;
	racer_inside = false;
	munmap(m, HUGE);
	return 0;
}

static int race_join(u64 key)
{
	struct kcoll_join args = {.size = sizeof(args), .flags = key ? 0 : KCOLL_JOIN_USER};

	memcpy(args.key, &key, sizeof(key));
	return !ioctl(SHARED_FD, KCOLL_JOIN, &args) ? 0 : errno == EBUSY ? 1 : -1;
}

static int race_register(void)
{
	struct kcoll_register args = {.size = sizeof(args), .flags = KCOLL_READ, .addr = (u64)race_memory, .len = HUGE};

	if (ioctl(SHARED_FD, KCOLL_REGISTER, &args))
		return errno == EDQUOT ? 1 : -1;
	race_cookie = args.cookie;
	return 0;
}

static int race_unregister(void)
{
	struct kcoll_unregister args = {.size = sizeof(args), .cookie = race_cookie};

	return !ioctl(SHARED_FD, KCOLL_UNREGISTER, &args) ? 0 : errno == ENOENT ? 1 : -1;
}

static int race_copy(void)
{
	char x[64];
	struct kcoll_copy args = {
	    .size = sizeof(args), .flags = KCOLL_READ, .cookie = race_cookie, .addr = (u64)x, .len = sizeof(x)};

	return !ioctl(SHARED_FD, KCOLL_COPY, &args) ? 0 : errno == ENOENT ? 1 : -1;
}

static int race_open(void)
{
	int fd = open(KCOLL_DEVICE, O_RDWR), err = fd < 0 || dup2(fd, SHARED_FD) != SHARED_FD;

	close(fd);
	return err ? -1 : 0;
}

static int race_stats(void)
{
	struct kcoll_stats s = {.size = sizeof(s), .flags = KCOLL_STATS_ALL};

	return ioctl(SHARED_FD, KCOLL_STATS, &s) ? -1 : 0;
}

/* 0: done; 1: refused as the header says; -1: an error that it does not know. */
static int race_step(unsigned int command, unsigned int key)
{
	switch (command) {
	case 0: return race_open();
	case 1: return race_join(key % 4 ? 700 + key % KEYS : 0);
	case 2: return race_register();
	case 3: return race_unregister();
	case 4: return race_map();
	case 5: return race_copy();
	default: return race_stats();
	}
}

static void *racer(void *arg)
{
	unsigned int seed = (long)arg;

	while (!race_over) {
		unsigned int command = rand_r(&seed) % COMMANDS;
		int result = race_step(command, rand_r(&seed));

		if (result < 0)
			fail(__FILE__, __LINE__, "command %u (errno %d)", command, errno);
		if (!result)
			__sync_fetch_and_add(&race_done[command], 1);
	}
	return NULL;
}

TEST(threads_race_on_one_descriptor)
{
	pthread_t threads[RACERS];
	long i;

	signal(SIGBUS, racer_on_bus);
	race_memory = memory(SMALL, HUGE);
	CHECK(!race_open());
	for (i = 0; i < RACERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, racer, (void *)(test_random() % 1000000)));
	sleep(getenv("KCOLL_SLOW") ? 20 : 6);
	race_over = true;
	for (i = 0; i < RACERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	for (i = 0; i < COMMANDS; i++) {
		printf("# command %ld: %llu times\n", i, (unsigned long long)race_done[i]);
		CHECK(race_done[i] > 0);
	}
}

/* Joins, registers, maps what others registered, here or in another domain, and leaves, all in any order; with a
 * thread's descriptor, mapping and exec left to the one that ends last. */
static void member(void)
{
	size_t len = MEMBER_PAGES * PAGE;
	char *p = memory(test_random() % 2 ? SMALL : THP, HUGE), *m = NULL, x[PAGE];

	signal(SIGBUS, on_bus);
	dev = -1;
	for (;;) {
		u64 cookie = 0;
		int i;

		switch (test_random() % 8) {
		case 0: device_alone(); break;
		case 1: device_again(); break;
		default: CHECK(!join(900 + test_random() % KEYS));
		}
		cookie = reg(p, len, KCOLL_READ | KCOLL_WRITE);
		if (cookie)
			board->cookies[test_random() % OWNERS] = cookie;
		for (i = test_random() % 12; i > 0; i--) {
			if (!m && (m = random_mapping()))
				__sync_fetch_and_add(&board->maps, 1);
			if (m)
				touch(m, test_random() % 2);
			if (m && test_random() % 3 == 0) {
				munmap(m, len);
				m = NULL;
			}
			if (!copy(any_cookie(), test_random() % (len - PAGE), x, PAGE, KCOLL_READ))
				__sync_fetch_and_add(&board->copies, 1);
			sync_region(any_cookie(), NULL);
			change_memory(p);
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		}
		if (cookie && test_random() % 2)
			unreg(cookie);
		/* A mapping may be left to outlive the descriptor; a process ends, or becomes another, with all of it.
		 */
		if (test_random() % 16 == 0)
			execl("/bin/true", "true", NULL);
	}
}

TEST(domains_come_and_go_under_mappings)
{
	double end = seconds_now() + (getenv("KCOLL_SLOW") ? 30 : 10), most = end + 40;
	pid_t pids[MEMBERS] = {0};
	int i, status;

	board_new();
	while (seconds_now() < end || ((!board->copies || !board->maps) && seconds_now() < most)) {
		for (i = 0; i < MEMBERS; i++) {
			if (pids[i] && waitpid(pids[i], &status, WNOHANG) == pids[i]) {
				CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 127));
				pids[i] = 0;
			}
			if (!pids[i]) {
				test_random();
				pids[i] = fork();
				if (!pids[i]) {
					prctl(PR_SET_PDEATHSIG, SIGKILL);
					member();
				}
			}
		}
		usleep(20000);
		/* Limits that change meanwhile. */
		parameter("max_pinned_mb", test_random() % 2 ? "1" : "0");
		parameter("cross_userns", test_random() % 2 ? "Y" : "N");
	}
	for (i = 0; i < MEMBERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	printf("# %llu copies, %llu mappings\n", (unsigned long long)board->copies, (unsigned long long)board->maps);
	CHECK(board->copies > 0 && board->maps > 0);
	parameter("max_pinned_mb", "0");
	parameter("cross_userns", "N");
}

TEST(the_module_is_unloaded_under_load)
{
	int round, refused = 0, file;
	char *p = memory(SMALL, HUGE);

	board_new();
	for (round = 0; round < 5; round++) {
		pid_t load = fork();
		double end;
		u64 cookie;
		char *m;

		if (!load) {
			setpgid(0, 0);
			run_for(1000);
			_exit(0);
		}
		setpgid(load, load);
		board->copies = 0;
		for (end = seconds_now() + 60; !board->copies && seconds_now() < end; usleep(10000))
			;
		CHECK(board->copies > 0);
		refused += syscall(SYS_delete_module, "kcoll", O_NONBLOCK) && (errno == EAGAIN || errno == EWOULDBLOCK);
		kill(-load, SIGKILL);
		waitpid(load, NULL, 0);
		/* A mapping alone keeps the module loaded, too. */
		device_again();
		fill(p, HUGE, 3);
		cookie = reg(p, HUGE, KCOLL_READ);
		CHECK(cookie);
		m = map(cookie, 0, HUGE, PROT_READ);
		CHECK(m != MAP_FAILED && m[5] == p[5]);
		close(dev);
		dev = -1;
		usleep(100000);
		CHECK(syscall(SYS_delete_module, "kcoll", O_NONBLOCK) == -1);
		CHECK_EQ(p_peek((long[8]){(long)m, HUGE, 3, 0}), 2); /* not the region: that ends with its descriptor */
		munmap(m, HUGE);
		for (end = seconds_now() + 60; seconds_now() < end; usleep(1000))
			if (!syscall(SYS_delete_module, "kcoll", O_NONBLOCK))
				break;
		CHECK_ERR(open(KCOLL_DEVICE, O_RDWR), ENOENT);
		file = open("/run/kcoll.ko", O_RDONLY);
		CHECK(file >= 0);
		CHECK_EQ(syscall(SYS_finit_module, file, "", 0), 0);
		close(file);
	}
	CHECK_EQ(refused, 5);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
