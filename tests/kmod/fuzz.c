// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random operations of several processes on each other's regions, for KCOLL_FUZZ_SECONDS (20). Each owner follows a
 * rule that makes any stale byte visible: a page's words all hold the number of the write that filled it last, or zero
 * after it was dropped, and writes of the same owner only count upwards. A reader may see old or new while the owner
 * works, but not a number from before the last operation that had ended when its copy began.
 *
 * Replay: fuzz - SEED. Operations are the same; their interleaving is the machine's.
 */
#include <sys/syscall.h>

#include "kcoll_test.h"

enum { WORKERS = 4, REGIONS = 3, PAGES = 1200 };

struct slot {
	volatile u64 cookie;
	volatile u64 floor; /* no page may show a smaller number (or zero, if `zero`) to copies that begin now */
	volatile u32 busy;  /* odd: the owner is changing `floor` */
};
struct board {
	struct slot slots[WORKERS][REGIONS];
	volatile u64 operations[16];
	volatile u64 checked;
};
static struct board *board;

struct mine {
	char *p;
	enum kind kind;
	u64 number;
	bool registered;
};

static void write_all(struct mine *m, u64 number)
{
	size_t i;

	for (i = 0; i < PAGES * PAGE / 8; i++)
		((volatile u64 *)m->p)[i] = number;
}

/* The owner changes one of its regions. */
static void owner_step(struct mine *m, struct slot *slot)
{
	u32 what = test_random() % 12;

	board->operations[what]++;
	slot->busy++;
	__sync_synchronize();
	switch (what) {
	case 0: /* drop pages, write again */ madvise(m->p, PAGES * PAGE, MADV_DONTNEED); break;
	case 1: /* replace the mapping */
		if (m->kind != HUGETLB)
			mmap(m->p, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			     0);
		break;
	case 2: /* move it away and back: other pages at the old place for a moment */
		if (m->kind == SMALL || m->kind == THP) {
			char *q = mremap(m->p, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);

			if (q != MAP_FAILED)
				munmap(q, PAGES * PAGE);
		}
		break;
	case 3: madvise(m->p, PAGES * PAGE, 21 /* MADV_PAGEOUT */); break;
	case 4: madvise(m->p, PAGES * PAGE, 25 /* MADV_COLLAPSE */); break;
	case 5: {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		break;
	}
	case 6:
		mprotect(m->p, PAGES * PAGE, PROT_READ);
		mprotect(m->p, PAGES * PAGE, PROT_READ | PROT_WRITE);
		break;
	case 7: /* end it and register another one */
	case 8:
		if (m->registered) {
			struct kcoll_unregister args = {
			    .size = sizeof(args), .flags = what == 7 ? KCOLL_NOWAIT : 0, .cookie = slot->cookie};

			CHECK(!ioctl(device(), KCOLL_UNREGISTER, &args));
			slot->cookie = 0;
			m->registered = false;
		}
		break;
	default: break;
	}
	write_all(m, ++m->number);
	if (!m->registered) {
		u64 cookie = reg(m->p + 8 * (test_random() % 512), (PAGES - 1) * PAGE,
				 KCOLL_READ | (test_random() % 4 ? 0 : KCOLL_EAGER));

		CHECK(cookie);
		m->registered = true;
		slot->cookie = cookie;
	}
	slot->floor = m->number;
	__sync_synchronize();
	slot->busy++;
}

/* A reader makes a random copy by a random path and checks it. */
static void reader_step(char *buffer)
{
	struct slot *slot = &board->slots[test_random() % WORKERS][test_random() % REGIONS];
	u64 cookie = slot->cookie, floor, offset = test_random() % ((PAGES - 2) * PAGE) & ~7UL, len, i;
	u32 path = test_random() % 5;
	u32 busy = slot->busy;

	__sync_synchronize();
	floor = slot->floor;
	if (!cookie || busy % 2)
		floor = 0;
	len = test_random() % 3 ? test_random() % 70000 : test_random() % (PAGES * PAGE);
	len = (len < (PAGES - 1) * PAGE - offset ? len : (PAGES - 1) * PAGE - offset) & ~7UL;
	board->operations[12]++;
	if (path < 3) {
		if (copy(cookie, offset, buffer, len, KCOLL_READ)) {
			CHECK(errno == ENOENT || errno == EFAULT || errno == ESRCH || errno == EINTR);
			return;
		}
	} else if (path == 3) {
		u64 into = reg(buffer, PAGES * PAGE, KCOLL_WRITE);
		int err;

		CHECK(into);
		err = copy2(cookie, offset, into, 0, len) ? errno : 0;
		CHECK(!unreg(into));
		if (err) {
			CHECK(err == ENOENT || err == EFAULT || err == ESRCH);
			return;
		}
	} else {
		struct iovec iov[2] = {{buffer, len / 2 & ~7UL}, {buffer + (len / 2 & ~7UL), len - (len / 2 & ~7UL)}};

		if (copyv(cookie, offset, iov, 2, KCOLL_READ)) {
			CHECK(errno == ENOENT || errno == EFAULT || errno == ESRCH);
			return;
		}
	}
	/* Checks only if the owner has begun no operation since: otherwise pages may be half written or zero. */
	__sync_synchronize();
	if (!floor || slot->busy != busy || slot->cookie != cookie)
		return;
	for (i = 0; i < len / 8; i++)
		if (((u64 *)buffer)[i] != floor)
			fail(__FILE__, __LINE__, "word %llu of %llu at %llu is %llu, not %llu (path %u)",
			     (unsigned long long)i, (unsigned long long)len / 8, (unsigned long long)offset,
			     (unsigned long long)((u64 *)buffer)[i], (unsigned long long)floor, path);
	__sync_fetch_and_add(&board->checked, 1);
}

static void worker(int self, double seconds)
{
	char *buffer = memory(self % 2 ? THP : SMALL, PAGES * PAGE);
	struct mine mine[REGIONS] = {0};
	double end = seconds_now() + seconds;
	int i;

	dev = -1;
	for (i = 0; i < REGIONS; i++) {
		mine[i].kind = i == 2 ? SHMEM : i == 1 ? THP : SMALL;
		mine[i].p = memory(mine[i].kind, PAGES * PAGE);
		mine[i].number = (u64)(self * REGIONS + i + 1) << 40;
	}
	for (i = 0; i < self * 7 + 1; i++)
		test_random();
	while (seconds_now() < end) {
		i = test_random() % REGIONS;
		owner_step(&mine[i], &board->slots[self][i]);
		for (i = 0; i < 12; i++)
			reader_step(buffer);
	}
}

TEST(random_operations)
{
	const char *text = getenv("KCOLL_FUZZ_SECONDS");
	double seconds = text ? atof(text) : 20;
	pid_t pids[WORKERS];
	u64 operations = 0;
	int i, status;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	for (i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			worker(i, seconds);
			_exit(0);
		}
	}
	for (i = 0; i < WORKERS; i++) {
		waitpid(pids[i], &status, 0);
		CHECK_EQ(status, 0);
	}
	for (i = 0; i < 13; i++)
		operations += board->operations[i];
	printf("# %llu operations, %llu copies checked word by word\n", (unsigned long long)operations,
	       (unsigned long long)board->checked);
	CHECK(board->checked > 0);
}

/* Structures filled at random: no crash, no hang, nothing accepted that has unknown bits. */
TEST(random_structures)
{
	static const unsigned long commands[] = {KCOLL_INFO,   KCOLL_JOIN,  KCOLL_REGISTER, KCOLL_UNREGISTER,
						 KCOLL_COPY,   KCOLL_COPY2, KCOLL_BATCH,    KCOLL_SYNC,
						 KCOLL_ATTACH, KCOLL_STATS};
	char *p = memory(SMALL, HUGE);
	double end = seconds_now() + 5;
	unsigned long n = 0;
	u64 cookie = 0;

	while (seconds_now() < end) {
		u64 words[64];
		u32 *half = (u32 *)words;
		int i, c = test_random() % 10;

		for (i = 0; i < 64; i++) {
			switch (test_random() % 8) {
			case 0: words[i] = test_random(); break;
			case 1: words[i] = (u64)p + test_random() % HUGE; break;
			case 2: words[i] = test_random() % 100000; break;
			case 3: words[i] = cookie; break;
			case 4: words[i] = 1UL << test_random() % 64; break;
			case 5: words[i] = -(test_random() % 10000); break;
			default: words[i] = 0;
			}
		}
		half[0] = test_random() % 4 ? _IOC_SIZE(commands[c]) : test_random() % 600;
		half[1] = test_random() % 3 ? test_random() % 16 : test_random();
		ioctl(device(), commands[c], words);
		if (c == 2 && words[5])
			cookie = words[5];
		if (test_random() % 16 == 0)
			cookie = reg(p + test_random() % 1000, test_random() % HUGE, 1 + test_random() % 15);
		if (test_random() % 500 == 0)
			device_again();
		if (test_random() % 500 == 0)
			device_alone();
		n++;
	}
	printf("# %lu commands\n", n);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
