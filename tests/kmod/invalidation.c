// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every operation of the owner on its memory, for every kind of page: copies and mappings must see the new state, or
 * fail; never the old one. Each case runs with pages that were pinned and mapped before it.
 */
#include <sys/syscall.h>

#include "kcoll_test.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

struct scene {
	enum kind kind;
	char *p;
	size_t len;
	u64 cookie, gen;
	struct peer peer;
	long at; /* the peer's mapping */
};

static struct scene scene_new(enum kind kind)
{
	struct scene s = {.kind = kind, .len = 2 * HUGE, .peer = peer_new()};

	s.p = memory(kind, s.len);
	fill(s.p, s.len, 1);
	s.cookie = reg(s.p, s.len, KCOLL_READ | KCOLL_WRITE);
	CHECK(s.cookie);
	CHECK_EQ(peer_call(&s.peer, p_read_check, s.cookie, 0, s.len, 1, 0), 0);
	s.at = peer_call(&s.peer, p_map, s.cookie, 0, s.len, PROT_READ | PROT_WRITE);
	CHECK(s.at > 0);
	CHECK_EQ(peer_call(&s.peer, p_peek, s.at, s.len, 1, 0), 0);
	s.gen = peer_call(&s.peer, p_attach_gen, s.cookie);
	return s;
}

/* Copies, and after SYNC the mapping, show that [offset, +len) holds the pattern `seed`; both ways. */
static void shows(struct scene *s, size_t offset, size_t len, u64 seed)
{
	CHECK(filled(s->p + offset, len, seed, offset));
	CHECK_EQ(peer_call(&s->peer, p_read_check, s->cookie, offset, len, seed, offset), 0);
	CHECK_EQ(peer_call(&s->peer, p_sync, s->cookie, 0), 0);
	CHECK_EQ(peer_call(&s->peer, p_peek, s->at + offset, len, seed, offset), 0);
	/* Written here, seen there; written there, seen here. */
	fill(s->p + offset, len, seed + 50);
	CHECK_EQ(peer_call(&s->peer, p_read_check, s->cookie, offset, len, seed + 50, 0), 0);
	CHECK_EQ(peer_call(&s->peer, p_peek, s->at + offset, len, seed + 50, 0), 0);
	CHECK_EQ(peer_call(&s->peer, p_write, s->cookie, offset, len, seed + 51), 0);
	CHECK(filled(s->p + offset, len, seed + 51, 0));
	CHECK_EQ(peer_call(&s->peer, p_sync, s->cookie, 0), 0);
	CHECK_EQ(peer_call(&s->peer, p_poke, s->at + offset, len, seed + 52), 0);
	CHECK(filled(s->p + offset, len, seed + 52, 0));
}

static void gone(struct scene *s, size_t offset, size_t len)
{
	CHECK_EQ(peer_call(&s->peer, p_read_check, s->cookie, offset, len, 0, 0), -EFAULT);
	CHECK_EQ(peer_call(&s->peer, p_write, s->cookie, offset, len, 0), -EFAULT);
	CHECK_EQ(peer_call(&s->peer, p_sync, s->cookie, 0), 0);
	CHECK_EQ(peer_call(&s->peer, p_peek, s->at + offset, len, 0, 0), 2);
}

static void generation_moved(struct scene *s)
{
	CHECK((u64)peer_call(&s->peer, p_attach_gen, s->cookie) != s->gen);
	CHECK_EQ(peer_call(&s->peer, p_sync, s->cookie, s->gen), -ESTALE);
}

static void scene_end(struct scene *s)
{
	CHECK(!unreg(s->cookie));
	CHECK_EQ(pinned_pages(), 0);
	peer_end(&s->peer);
}

static void do_munmap(enum kind kind)
{
	struct scene s = scene_new(kind);

	CHECK(!munmap(s.p + HUGE, HUGE));
	generation_moved(&s);
	gone(&s, HUGE, HUGE);
	shows(&s, 0, HUGE, 1);
	scene_end(&s);
}

static void do_remap_over(enum kind kind)
{
	struct scene s = scene_new(kind);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | (kind == HUGETLB ? MAP_HUGETLB : 0);

	CHECK(mmap(s.p + HUGE, HUGE, PROT_READ | PROT_WRITE, flags, -1, 0) == s.p + HUGE);
	generation_moved(&s);
	fill(s.p + HUGE, HUGE, 7);
	CHECK_EQ(peer_call(&s.peer, p_read_check, s.cookie, HUGE, HUGE, 7, 0), 0);
	CHECK_EQ(peer_call(&s.peer, p_sync, s.cookie, 0), 0);
	CHECK_EQ(peer_call(&s.peer, p_peek, s.at + HUGE, HUGE, 7, 0), 0);
	scene_end(&s);
}

static void do_mremap(enum kind kind)
{
	struct scene s = scene_new(kind);
	char *q = memory(kind == HUGETLB ? SMALL : kind, HUGE), *moved;

	munmap(q, HUGE);
	moved = mremap(s.p + HUGE, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	CHECK(moved == q);
	generation_moved(&s);
	CHECK(filled(q, HUGE, 1, HUGE));
	gone(&s, HUGE, HUGE);
	/* The region does not follow the moved memory. */
	shows(&s, 0, HUGE, 1);
	CHECK(filled(q, HUGE, 1, HUGE));
	scene_end(&s);
}

static void do_dontneed(enum kind kind)
{
	struct scene s = scene_new(kind);
	char *zero = calloc(1, HUGE);

	CHECK(!madvise(s.p + HUGE, HUGE, MADV_DONTNEED));
	generation_moved(&s);
	if (kind == SHMEM) {
		/* The file keeps it. */
		shows(&s, HUGE, HUGE, 1);
	} else {
		/* The owner reads zeros, or the file's pages (private); peers read the same. */
		CHECK(kind == COW || !memcmp(s.p + HUGE, zero, HUGE));
		fill(s.p + HUGE, 5000, 3);
		CHECK_EQ(peer_call(&s.peer, p_read_check, s.cookie, HUGE, 5000, 3, 0), 0);
		fill(s.p + HUGE, HUGE, 4);
		CHECK_EQ(peer_call(&s.peer, p_read_check, s.cookie, HUGE, HUGE, 4, 0), 0);
		CHECK_EQ(peer_call(&s.peer, p_sync, s.cookie, 0), 0);
		CHECK_EQ(peer_call(&s.peer, p_peek, s.at + HUGE, HUGE, 4, 0), 0);
	}
	scene_end(&s);
}

static void do_pageout(enum kind kind)
{
	struct scene s = scene_new(kind);

	/* May ignore pinned pages, but must not break anything. */
	if (madvise(s.p, s.len, MADV_PAGEOUT))
		CHECK_EQ(errno, EINVAL);
	shows(&s, 0, s.len, 1);
	scene_end(&s);
}

static void do_collapse(enum kind kind)
{
	struct scene s = scene_new(kind);

	if (madvise(s.p, s.len, MADV_HUGEPAGE) || madvise(s.p, s.len, MADV_COLLAPSE))
		CHECK(errno == EINVAL || errno == EAGAIN || errno == EBUSY || errno == ENOMEM);
	shows(&s, 0, s.len, 1);
	scene_end(&s);
}

static void do_mprotect(enum kind kind)
{
	struct scene s = scene_new(kind);

	CHECK(!mprotect(s.p + HUGE, HUGE, PROT_READ));
	generation_moved(&s);
	CHECK_EQ(peer_call(&s.peer, p_write, s.cookie, HUGE, 100, 0), -EFAULT);
	CHECK_EQ(peer_call(&s.peer, p_sync, s.cookie, 0), 0);
	CHECK_EQ(peer_call(&s.peer, p_poke, s.at + HUGE, 100, 0), 2);
	CHECK(filled(s.p + HUGE, HUGE, 1, HUGE));
	CHECK(!mprotect(s.p + HUGE, HUGE, PROT_READ | PROT_WRITE));
	shows(&s, HUGE, HUGE, 1);
	scene_end(&s);
}

static void do_truncate(enum kind kind)
{
	struct scene s = scene_new(kind);

	CHECK(!ftruncate(memory_fd(), HUGE));
	if (kind == COW) {
		/* Copied pages of the private mapping go too; those addresses are beyond the file's end now. */
		CHECK_EQ(peer_call(&s.peer, p_read_check, s.cookie, HUGE, 100, 0, 0), -EFAULT);
	} else {
		gone(&s, HUGE, HUGE);
	}
	CHECK(!ftruncate(memory_fd(), 2 * HUGE));
	fill(s.p + HUGE, HUGE, 5);
	CHECK_EQ(peer_call(&s.peer, p_read_check, s.cookie, HUGE, HUGE, 5, 0), 0);
	scene_end(&s);
}

/* After a fork both sides write; the region shows the writes of the owner only. */
static void fork_with(enum kind kind, bool child_first)
{
	struct scene s;
	int down[2], up[2];
	char byte;
	pid_t child;

	needs_copies_at_fork(kind);
	s = scene_new(kind);
	CHECK(!pipe(down) && !pipe(up));
	child = fork();
	if (!child) {
		bool ok;

		ok = read(down[0], &byte, 1) == 1;
		/* A private page was copied at the fork or on writing: the old contents, whatever the owner did. */
		if (s.kind != SHMEM)
			ok &= filled(s.p, s.len, 1, 0);
		if (s.kind != SHMEM)
			fill(s.p, s.len, 99);
		ok &= write(up[1], "x", 1) == 1;
		ok &= read(down[0], &byte, 1) == 1;
		ok &= s.kind == SHMEM || filled(s.p, s.len, 99, 0);
		_exit(ok ? 0 : 1);
	}
	if (child_first)
		CHECK(write(down[1], "x", 1) == 1 && read(up[0], &byte, 1) == 1);
	CHECK_EQ(peer_call(&s.peer, p_read_check, s.cookie, 0, s.len, 1, 0), 0);
	shows(&s, 0, s.len, 1);
	if (!child_first)
		CHECK(write(down[1], "x", 1) == 1 && read(up[0], &byte, 1) == 1);
	shows(&s, 0, s.len, (fill(s.p, s.len, 200), 200));
	CHECK(write(down[1], "x", 1) == 1);
	{
		int status;

		waitpid(child, &status, 0);
		CHECK_EQ(status, 0);
	}
	shows(&s, 0, s.len, (fill(s.p, s.len, 300), 300));
	scene_end(&s);
}

static void do_fork_child_writes_first(enum kind kind) { fork_with(kind, true); }
static void do_fork_owner_writes_first(enum kind kind) { fork_with(kind, false); }

/* Shared by a fork before any pin: the page must become the owner's own before a peer writes to it. */
static void do_fork_before_pin(enum kind kind)
{
	char *p = memory(kind, HUGE);
	struct peer peer;
	int down[2], status;
	pid_t child;
	char byte;
	u64 cookie;

	needs_copies_at_fork(kind);
	fill(p, HUGE, 1);
	CHECK(!pipe(down));
	child = fork();
	if (!child) {
		if (read(down[0], &byte, 1) != 1)
			_exit(2);
		_exit(kind == SHMEM || filled(p, HUGE, 1, 0) ? 0 : 1);
	}
	peer = peer_new();
	cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, HUGE, 1, 0), 0);
	CHECK_EQ(peer_call(&peer, p_write, cookie, 0, HUGE, 2), 0);
	CHECK(filled(p, HUGE, 2, 0));
	fill(p, HUGE, 3);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, HUGE, 3, 0), 0);
	CHECK(write(down[1], "x", 1) == 1);
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	CHECK(!unreg(cookie));
	peer_end(&peer);
}

/* Read-only regions pin without breaking copy-on-write sharing: the owner's first write must still be seen. */
static void do_read_only_then_write(enum kind kind)
{
	char *p = memory(kind, HUGE), *zero = calloc(1, HUGE);
	struct peer peer = peer_new();
	u64 cookie;

	cookie = reg(p, HUGE, KCOLL_READ);
	/* Never touched: zero pages, or the file's. */
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, HUGE, 77, 0), 1);
	fill(p, HUGE, 5);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, HUGE, 5, 0), 0);
	CHECK(!unreg(cookie));
	free(zero);
	peer_end(&peer);
}

#define FILES(name, run)                   \
	TEST(name##_shmem) { run(SHMEM); } \
	TEST(name##_private_file) { run(COW); }
#define SWAPPED(name, run)              \
	TEST(name##_4k) { run(SMALL); } \
	TEST(name##_thp) { run(THP); }  \
	FILES(name, run)
#define ALL(name, run)     \
	SWAPPED(name, run) \
	TEST(name##_hugetlb) { run(HUGETLB); }
#define CASE(name) ALL(name, do_##name)
CASE(munmap)
CASE(remap_over)
CASE(mremap)
CASE(dontneed)
SWAPPED(pageout, do_pageout) /* huge pages are not paged out */
CASE(collapse)
CASE(mprotect)
FILES(truncate, do_truncate)
CASE(fork_child_writes_first)
CASE(fork_owner_writes_first)
CASE(fork_before_pin)
CASE(read_only_then_write)

/* --- ends of the owner and of the peer --- */

struct shared {
	volatile u64 cookie;
	volatile int go, stop;
};

static struct shared *shared_new(void)
{
	struct shared *s = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(s != MAP_FAILED);
	return s;
}

/* An owner that ends in a given manner while this process copies from it: every copy is right, or fails with a known
 * error. */
static void owner_ends(enum kind kind, char how)
{
	struct shared *shared = shared_new();
	char *buffer = memory(SMALL, 2 * HUGE), *mapping;
	double end, start, took = 0;
	pid_t owner, killer = 0;
	int last = 0;
	long copies = 0;
	u64 done;

	dev = -1;
	owner = fork();
	if (!owner) {
		char *p = memory(kind, 2 * HUGE);

		fill(p, 2 * HUGE, 1);
		shared->cookie = reg(p, 2 * HUGE, KCOLL_READ);
		while (!shared->go)
			usleep(100);
		if (how == 'x')
			execl("/bin/sleep", "sleep", "1", NULL);
		if (how == 'k')
			pause();
		_exit(0);
	}
	while (!shared->cookie)
		usleep(100);
	mapping = map(shared->cookie, 0, 2 * HUGE, PROT_READ);
	CHECK(mapping != MAP_FAILED);
	CHECK(filled(mapping, 2 * HUGE, 1, 0));
	for (end = seconds_now() + 120; seconds_now() < end && last != ENOENT; copies++) {
		start = seconds_now();
		if (!copy_gen(shared->cookie, 0, buffer, 2 * HUGE, KCOLL_READ, 0, &done)) {
			CHECK_EQ(done, 2 * HUGE);
		} else {
			last = errno;
			CHECK(last == ESRCH || last == ENOENT || last == EFAULT);
		}
		CHECK(filled(buffer, done, 1, 0));
		took = seconds_now() - start;
		/* In the middle of the copies, not before them; killed, in the middle of one. */
		if (copies == 3 && how == 'k') {
			killer = fork();
			if (!killer) {
				usleep(test_random() % (u64)(took * 1.5e6 + 1));
				kill(owner, SIGKILL);
				_exit(0);
			}
		}
		if (copies == 3)
			shared->go = 1;
	}
	CHECK(copies > 3);
	CHECK_EQ(last, ENOENT);
	/* The mapping may show the old pages for some milliseconds more. */
	while (p_peek((long[8]){(long)mapping, 8, 1, 0}) != 2) {
		CHECK(seconds_now() < end + 30);
		usleep(1000);
	}
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	if (killer)
		waitpid(killer, NULL, 0);
	munmap(mapping, 2 * HUGE);
	device_again();
}

static void owner_exits(enum kind kind) { owner_ends(kind, 'e'); }

static void owner_execs(enum kind kind) { owner_ends(kind, 'x'); }

static void owner_is_killed(enum kind kind)
{
	int round;

	for (round = 0; round < 4; round++)
		owner_ends(kind, 'k');
}
ALL(owner_exits, owner_exits)
ALL(owner_execs, owner_execs)
ALL(owner_is_killed, owner_is_killed)

/* Peers that are killed in the middle of copies leak nothing. */
static void peers_are_killed(enum kind kind)
{
	size_t len = 4 * HUGE;
	char *p = memory(kind, len);
	u64 cookie;
	int i;

	fill(p, len, 1);
	cookie = reg(p, len, KCOLL_READ | KCOLL_WRITE);
	for (i = 0; i < 12; i++) {
		pid_t pid = fork();

		if (!pid) {
			char *buffer = memory(SMALL, len);

			dev = -1;
			if (i % 3 == 2)
				buffer = map(cookie, 0, len, PROT_READ | PROT_WRITE);
			for (;;)
				copy(cookie, 0, buffer, len, i % 2 ? KCOLL_READ : KCOLL_WRITE);
		}
		usleep(15000 + i * 3000);
		if (i % 4 == 1)
			madvise(p, HUGE, MADV_DONTNEED);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	CHECK(!unreg(cookie));
	CHECK_EQ(pinned_pages(), 0);
}
ALL(peers_are_killed, peers_are_killed)

/* The owner forks all the time while peers write and check: every byte arrives where it should. */
static void forks_under_copies(enum kind kind)
{
	size_t len = 2 * HUGE;
	char *p = memory(kind, len);
	struct peer peers[2] = {peer_new(), peer_new()};
	double end;
	u64 cookie;
	int round = 0;

	fill(p, len, 1);
	cookie = reg(p, len, KCOLL_READ | KCOLL_WRITE);
	for (end = seconds_now() + 2; seconds_now() < end; round++) {
		pid_t pid;

		peer_start(&peers[0], p_write, cookie, 0, HUGE, 1000 + round);
		peer_start(&peers[1], p_write, cookie, HUGE, HUGE, 5000 + round);
		pid = fork();
		if (!pid)
			_exit(0);
		CHECK_EQ(peer_result(&peers[0]), 0);
		CHECK_EQ(peer_result(&peers[1]), 0);
		CHECK(filled(p, HUGE, 1000 + round, 0));
		CHECK(filled(p + HUGE, HUGE, 5000 + round, 0));
		waitpid(pid, NULL, 0);
	}
	printf("# %d rounds\n", round);
	CHECK(!unreg(cookie));
	peer_end(&peers[0]);
	peer_end(&peers[1]);
}
ALL(forks_under_copies, forks_under_copies)

int main(int argc, char **argv) { return test_main(argc, argv); }
