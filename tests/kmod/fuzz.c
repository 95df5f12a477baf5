// SPDX-License-Identifier: BSD-3-Clause
/*
 * Structures at the edges of the interface (fuzz.txt), then random ones: no crash, no hang, nothing accepted that has
 * unknown bits. Random operations of several processes on each other's regions, for KCOLL_FUZZ_SECONDS (20). Each owner
 * follows a rule that makes any stale byte visible: a page's words all hold the number of the write that filled it
 * last, or zero after it was dropped, and writes of the same owner only count upwards. A reader may see old or new
 * while the owner works, but not a number from before the last operation that had ended when its copy began.
 *
 * Replay: fuzz - SEED. Operations are the same; their interleaving is the machine's.
 */
#include <sys/syscall.h>

#include "kcoll_test.h"

/* --- structures at the edges --- */

enum { ANY = -1, STRUCT_BYTES = 512 };
#define KERNEL 0xffff888000000000UL

struct sent {
	const char *text;
	unsigned long command;
	int first, again; /* errno on a new descriptor, and of a second one there; 0; ANY */
	union {
		struct kcoll_info info;
		struct kcoll_join join;
		struct kcoll_register reg;
		struct kcoll_unregister unreg;
		struct kcoll_copy copy;
		struct kcoll_copy2 copy2;
		struct kcoll_batch batch;
		struct kcoll_sync sync;
		struct kcoll_attach attach;
		struct kcoll_stats stats;
		struct {
			u32 size, flags;
		};
		u64 words[STRUCT_BYTES / 8];
	} args;
};

struct vector { /* struct iovec, without pointers */
	u64 base, len;
};

static struct sent *edges;
static int n_edges;
static u64 P, X, READ_ONLY, HOLE, READABLE, WRITABLE, BOTH, ENDED, MOST;
static char *mapped_end; /* nothing is mapped behind */

/* The address of copies that stay, `times` one after the other; `odd`: so many bytes off their alignment. */
static u64 stays(const void *p, size_t n, size_t odd, int times)
{
	static char *area;
	static size_t used;
	char *copy;

	if (!area)
		area = memory(SMALL, 2 * HUGE);
	copy = area + used + odd;
	used += (n * times + odd + 15) & ~15UL;
	CHECK(used <= 2 * HUGE);
	while (times--)
		memcpy(copy + n * times, p, n);
	return (u64)copy;
}
#define STAYS(type, odd, times, ...) stays((type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}), odd, times)
#define RANGES(times, ...) STAYS(struct kcoll_range, 0, times, __VA_ARGS__)
#define AT_ODD(times, ...) STAYS(struct kcoll_range, 1, times, __VA_ARGS__)
#define IOVECS(times, ...) STAYS(struct vector, 0, times, __VA_ARGS__)
#define OPS(times, ...) STAYS(struct kcoll_op, 0, times, __VA_ARGS__)
/* clang-format off */
#define READ_8 {.op = KCOLL_OP_COPY, .copy = {.size = sizeof(struct kcoll_copy), .flags = KCOLL_READ, \
					      .cookie = READABLE, .addr = X, .len = 8}}
#define SENT(text, command, member, type, first, again, ...) \
	{text, command, first, again, {.member = {.size = sizeof(struct type), __VA_ARGS__}}},
/* clang-format on */
#define INFO(...) SENT("INFO(" #__VA_ARGS__ ")", KCOLL_INFO, info, kcoll_info, __VA_ARGS__)
#define JOIN(...) SENT("JOIN(" #__VA_ARGS__ ")", KCOLL_JOIN, join, kcoll_join, __VA_ARGS__)
#define REGISTER(...) SENT("REGISTER(" #__VA_ARGS__ ")", KCOLL_REGISTER, reg, kcoll_register, __VA_ARGS__)
#define UNREGISTER(...) SENT("UNREGISTER(" #__VA_ARGS__ ")", KCOLL_UNREGISTER, unreg, kcoll_unregister, __VA_ARGS__)
#define COPY(...) SENT("COPY(" #__VA_ARGS__ ")", KCOLL_COPY, copy, kcoll_copy, __VA_ARGS__)
#define COPY2(...) SENT("COPY2(" #__VA_ARGS__ ")", KCOLL_COPY2, copy2, kcoll_copy2, __VA_ARGS__)
#define BATCH(...) SENT("BATCH(" #__VA_ARGS__ ")", KCOLL_BATCH, batch, kcoll_batch, __VA_ARGS__)
#define SYNC(...) SENT("SYNC(" #__VA_ARGS__ ")", KCOLL_SYNC, sync, kcoll_sync, __VA_ARGS__)
#define ATTACH(...) SENT("ATTACH(" #__VA_ARGS__ ")", KCOLL_ATTACH, attach, kcoll_attach, __VA_ARGS__)
#define STATS(...) SENT("STATS(" #__VA_ARGS__ ")", KCOLL_STATS, stats, kcoll_stats, __VA_ARGS__)

/* The memory and regions that fuzz.txt names. */
static void edges_scene(void)
{
	struct kcoll_info info = {.size = sizeof(info)};
	char *p = memory(SMALL, HUGE), *page = memory(SMALL, HUGE);

	fill(p, HUGE, 1);
	P = (u64)p;
	X = (u64)memory(SMALL, HUGE);
	CHECK(!mprotect(page + PAGE, PAGE, PROT_NONE) && !mprotect(page + 2 * PAGE, PAGE, PROT_READ));
	HOLE = (u64)page + PAGE;
	READ_ONLY = HOLE + PAGE;
	mapped_end = memory(SMALL, HUGE);
	mapped_end += HUGE - PAGE;
	CHECK(!mprotect(mapped_end, PAGE, PROT_NONE));

	device_again();
	CHECK(!ioctl(dev, KCOLL_INFO, &info));
	MOST = info.max_region_bytes;
	READABLE = reg(p, HUGE, KCOLL_READ);
	WRITABLE = reg(memory(SMALL, HUGE), HUGE, KCOLL_WRITE);
	BOTH = reg(memory(SMALL, HUGE), HUGE, KCOLL_READ | KCOLL_WRITE);
	ENDED = reg(p, HUGE, KCOLL_READ);
	CHECK(READABLE && WRITABLE && BOTH && ENDED && !unreg(ENDED));
	dev = -1; /* stays open, beside those that the structures are sent to */
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init" /* of size */
static void edges_new(void)
{
	edges_scene();
	{
		const struct sent list[] = {
#include "fuzz.txt"
		};

		edges = malloc(sizeof(list));
		CHECK(edges);
		memcpy(edges, list, sizeof(list));
		n_edges = sizeof(list) / sizeof(*list);
	}
}
#pragma GCC diagnostic pop

/* Sends a structure that ends where nothing is mapped, `more` bytes longer than its own, the last of them `last`. */
static int send_edge(const struct sent *s, u32 more, char last)
{
	size_t n = _IOC_SIZE(s->command) + more;
	char *at = mapped_end - n;
	u32 size = s->args.size + more;
	int err;

	memcpy(at, s->args.words, n - more);
	memcpy(at, &size, sizeof(size));
	memset(at + n - more, 0, more);
	if (more)
		mapped_end[-1] = last;
	err = ioctl(device(), s->command, at) ? errno : 0;
	/* What it does not know it leaves alone. */
	CHECK(!more || mapped_end[-1] == last);
	return err;
}

static void expect(const struct sent *s, const char *how, int expected, int err)
{
	struct kcoll_info info = {.size = sizeof(info)};

	if (expected != ANY && err != expected)
		fail(__FILE__, __LINE__, "%s %s: errno %d, not %d", s->text, how, err, expected);
	CHECK(!ioctl(device(), KCOLL_INFO, &info));
}

/* As the library's descriptors are, or, for JOIN, one that has joined nothing. */
static void device_for(const struct sent *s)
{
	if (s->command == KCOLL_JOIN)
		device_alone();
	else
		device_again();
}

TEST(structures_at_the_edges)
{
	int i;

	edges_new();
	for (i = 0; i < n_edges; i++) {
		const struct sent *s = &edges[i];

		device_for(s);
		expect(s, "alone", s->first, send_edge(s, 0, 0));
		device_for(s);
		expect(s, "before another", s->first, send_edge(s, 0, 0));
		expect(s, "after another", s->again, send_edge(s, 0, 0));
		if (s->args.size != _IOC_SIZE(s->command))
			continue;
		device_for(s);
		expect(s, "with a longer structure", s->first, send_edge(s, 8, 0));
		expect(s, "with what it does not know", E2BIG, send_edge(s, 8, 1));
	}
	printf("# %d structures\n", n_edges);
	CHECK(n_edges > 100);
	/* No region has changed that may only be read, and those that may be are there. */
	device_again();
	CHECK(filled((void *)P, HUGE, 1, 0));
	CHECK(!copy(READABLE, 0, (void *)X, HUGE, KCOLL_READ) && filled((void *)X, HUGE, 1, 0));
}

/* --- operations at random --- */

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

/* Gives random words for all but some to those of a structure at the edges; returns the number of its command. */
static int near_an_edge(u64 *words)
{
	const struct sent *s = &edges[test_random() % n_edges];
	int i;

	for (i = 0; i < STRUCT_BYTES / 8; i++)
		if (test_random() % 8)
			words[i] = s->args.words[i];
	return _IOC_NR(s->command);
}

/* Structures filled at random: no crash, no hang, nothing accepted that has unknown bits. */
TEST(random_structures)
{
	static const unsigned long commands[] = {KCOLL_INFO,   KCOLL_JOIN,  KCOLL_REGISTER, KCOLL_UNREGISTER,
						 KCOLL_COPY,   KCOLL_COPY2, KCOLL_BATCH,    KCOLL_SYNC,
						 KCOLL_ATTACH, KCOLL_STATS};
	char *p = memory(SMALL, HUGE);
	unsigned long n = 0;
	u64 cookie = 0;
	double end;

	edges_new();
	end = seconds_now() + 5;
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
		if (test_random() % 2) /* one of those at the edges, with some words of these */
			c = near_an_edge(words);
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
