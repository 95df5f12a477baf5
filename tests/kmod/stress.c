// SPDX-License-Identifier: BSD-3-Clause
/* Owners and peers that die at any moment, and a module that is unloaded as soon as nobody uses it. */
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
	/* On a slow machine everybody may die before anything was copied: then go on for a while. */
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

TEST(everybody_dies_at_some_time)
{
	board_new();
	run_for(getenv("KCOLL_SLOW") ? 30 : 10);
	printf("# %llu copies, %llu mappings\n", (unsigned long long)board->copies, (unsigned long long)board->maps);
	CHECK(board->copies > 0 && board->maps > 0);
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
		/* A mapping alone keeps it too. */
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
		CHECK_EQ(p_peek((long[8]){(long)m, HUGE, 3, 0}), 0); /* it keeps the descriptor, and so the region */
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
