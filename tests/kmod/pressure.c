// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory pressure of a cgroup: what is pinned for peers gives way before a task of the cgroup is killed, whether peers
 * use it or not. Owners are in cgroups with a limit, peers are not. There is swap.
 */
#include "kcoll_test.h"

#define MIB (1UL << 20)
#define LIMIT "24M"

static bool swap(void)
{
	char line[200];
	FILE *f = fopen("/proc/swaps", "r");
	int lines = 0;

	while (f && fgets(line, sizeof(line), f))
		lines++;
	if (f)
		fclose(f);
	return lines > 1;
}

/* --- what owners do --- */

static char name[50]; /* of the cgroup of the owners that are made from now on */
static char *memory_of_owner;

static long p_begin(long *a) /* len, flags: the cookie of as much memory, none of which is there yet */
{
	group_join(name);
	dev = -1;
	memory_of_owner = memory(SMALL, a[0]);
	return reg(memory_of_owner, a[0], a[1]);
}

static long p_fill(long *a) /* offset, len: as if all had been filled with seed 5 */
{
	fill(memory_of_owner + a[0], a[1], 5 + a[0] / 8);
	return 0;
}

static long p_holds(long *a) /* len: whether that is there */ { return filled(memory_of_owner, a[0], 5, 0); }

static long p_pinned(long *a) { return pinned_pages(); }

static long p_wait_pinned(long *a) /* pages: what is pinned when that has been reached, or 20 s have passed */
{
	double end = seconds_now() + 20;

	while (pinned_pages() != a[0] && seconds_now() < end)
		usleep(10000);
	return pinned_pages();
}

static struct peer owner_new(const char *group, size_t len, u64 *cookie)
{
	struct peer owner;

	if (!swap())
		skip("no swap here");
	snprintf(name, sizeof(name), "%s", group);
	owner = peer_new();
	*cookie = peer_call(&owner, p_begin, len, KCOLL_READ | KCOLL_WRITE);
	CHECK(*cookie);
	return owner;
}

/* --- what peers do --- */

enum { ALL_PINNED = 2 }; /* more times, after which whole windows are pinned */

static long p_read_on(long *a) /* cookie, len, ms, more: so long, 1 + more times at least; -errno, 1: wrong bytes */
{
	static char x[MIB];
	double end = seconds_now() + a[2] / 1e3;
	long n = 0;

	while (seconds_now() < end || n * (long)MIB < (a[3] + 1) * a[1]) {
		size_t offset = n++ * MIB % a[1];

		if (copy(a[0], offset, x, MIB, KCOLL_READ))
			return -errno;
		if (!filled(x, MIB, 5, offset))
			return 1;
	}
	return 0;
}

static long p_map_on(long *a) /* cookie, len, ms: the same, of a mapping */
{
	char *m = map(a[0], 0, a[1], PROT_READ);
	double end = seconds_now() + a[2] / 1e3;
	long n = 0;

	if (m == MAP_FAILED)
		return -errno;
	while (seconds_now() < end || n * (long)MIB < (a[3] + 1) * a[1]) {
		size_t offset = n++ * MIB % a[1];

		if (!filled(m + offset, MIB, 5, offset))
			return 1;
	}
	return 0;
}

/* Most of what the limit allows is pinned; the owner then writes, and its peers pin, as much again. */
static void grow_beside(peer_fn use)
{
	struct peer owner, peer, more;
	long pinned;
	u64 cookie;

	group("grow", LIMIT);
	owner = owner_new("grow", 32 * MIB, &cookie);
	peer_call(&owner, p_fill, 0, 16 * MIB);
	peer = peer_new();
	more = peer_new();
	CHECK_EQ(peer_call(&peer, p_read_on, cookie, 16 * MIB, 300, ALL_PINNED), 0);
	if (use)
		peer_start(&peer, use, cookie, 16 * MIB, 3000);
	else
		usleep(1500000);
	pinned = peer_call(&owner, p_pinned);
	printf("# %ld of 4096 pages are pinned, and others are to be\n", pinned);
	CHECK(pinned >= 2048);
	CHECK_EQ(peer_call(&owner, p_fill, 16 * MIB, 16 * MIB), 0);
	CHECK_EQ(peer_call(&more, p_read_on, cookie, 32 * MIB, 1500), 0);
	CHECK_EQ(peer_call(&owner, p_holds, 32 * MIB), 1);
	if (use)
		CHECK_EQ(peer_result(&peer), 0);
	peer_end(&more);
	peer_end(&peer);
	peer_end(&owner);
}

TEST(cold_pins_are_given_back) { grow_beside(NULL); }

TEST(pins_that_copies_use_are_given_back) { grow_beside(p_read_on); }

TEST(pins_that_mappings_show_are_given_back) { grow_beside(p_map_on); }

/* What is read is more than the cgroup may have: each page has to come back from swap, and another one to go. */
static void read_more_than_the_limit(peer_fn use)
{
	enum { PEERS = 3 };
	struct peer owner, peers[PEERS];
	u64 cookie;
	int i;

	group("much", LIMIT);
	owner = owner_new("much", 32 * MIB, &cookie);
	peer_call(&owner, p_fill, 0, 32 * MIB);
	for (i = 0; i < PEERS; i++)
		peers[i] = peer_new();
	for (i = 0; i < PEERS; i++)
		peer_start(&peers[i], use, cookie, 32 * MIB, 5000);
	for (i = 0; i < PEERS; i++)
		CHECK_EQ(peer_result(&peers[i]), 0);
	CHECK_EQ(peer_call(&owner, p_holds, 32 * MIB), 1);
	for (i = 0; i < PEERS; i++)
		peer_end(&peers[i]);
	peer_end(&owner);
}

TEST(copies_of_more_than_the_limit) { read_more_than_the_limit(p_read_on); }

TEST(mappings_of_more_than_the_limit) { read_more_than_the_limit(p_map_on); }

/* The limit is that of a cgroup above, and another process in there needs the memory. */
TEST(the_limit_of_a_cgroup_above)
{
	struct peer owner, other, peer;
	u64 cookie, others;

	group("job", LIMIT);
	file_set(in_group("job", "cgroup.subtree_control"), "+memory");
	group("job/one", "max");
	group("job/two", "max");
	owner = owner_new("job/one", 16 * MIB, &cookie);
	other = owner_new("job/two", 16 * MIB, &others);
	peer_call(&owner, p_fill, 0, 16 * MIB);
	peer = peer_new();
	CHECK_EQ(peer_call(&peer, p_read_on, cookie, 16 * MIB, 300, ALL_PINNED), 0);
	CHECK_EQ(peer_call(&other, p_fill, 0, 16 * MIB), 0);
	CHECK_EQ(peer_call(&peer, p_read_on, others, 16 * MIB, 1000), 0);
	CHECK_EQ(peer_call(&other, p_holds, 16 * MIB), 1);
	CHECK_EQ(peer_call(&owner, p_holds, 16 * MIB), 1);
	peer_end(&peer);
	peer_end(&other);
	peer_end(&owner);
}

/*
 * Brings the statistics of a cgroup up to date. Without MGLRU, reclaim compares the lists of active and inactive pages
 * by them. Up to two seconds after peers have read pages, which makes these active, they may still be counted as
 * inactive; then reclaim scans neither list, and a task is killed. process_vm_readv() has the same effect, without
 * kcoll.
 */
static void update_statistics(const char *group)
{
	char line[100];
	FILE *f = fopen(in_group(group, "memory.stat"), "r");

	CHECK(f && fgets(line, sizeof(line), f));
	fclose(f);
}

/* A limit that comes after the pins. */
TEST(a_limit_that_is_lowered)
{
	struct peer owner, peer;
	u64 cookie;

	group("lower", "max");
	owner = owner_new("lower", 16 * MIB, &cookie);
	peer_call(&owner, p_fill, 0, 16 * MIB);
	peer = peer_new();
	CHECK_EQ(peer_call(&peer, p_read_on, cookie, 16 * MIB, 300, ALL_PINNED), 0);
	CHECK_EQ(peer_call(&owner, p_wait_pinned, 4096), 4096);
	update_statistics("lower");
	file_set(in_group("lower", "memory.max"), "8M");
	CHECK_EQ(peer_call(&owner, p_holds, 16 * MIB), 1);
	CHECK_EQ(peer_call(&peer, p_read_on, cookie, 16 * MIB, 300, ALL_PINNED), 0);
	CHECK(group_memory("lower") <= (long)(8 * MIB));
	peer_end(&peer);
	peer_end(&owner);
}

/* Who is not in the cgroup loses nothing. */
TEST(pins_of_other_cgroups_stay)
{
	struct peer owner, other, peer;
	u64 cookie, others;

	group("rich", "max");
	group("poor", LIMIT);
	owner = owner_new("rich", 16 * MIB, &cookie);
	other = owner_new("poor", 40 * MIB, &others);
	peer_call(&owner, p_fill, 0, 16 * MIB);
	peer = peer_new();
	CHECK_EQ(peer_call(&peer, p_read_on, cookie, 16 * MIB, 300, ALL_PINNED), 0);
	usleep(1500000);
	CHECK_EQ(peer_call(&owner, p_wait_pinned, 4096), 4096);
	CHECK_EQ(peer_call(&other, p_fill, 0, 40 * MIB), 0);
	CHECK_EQ(peer_call(&owner, p_pinned), 4096);
	peer_end(&peer);
	peer_end(&other);
	peer_end(&owner);
}

/* The pins of an owner whose cgroup is removed while it lives elsewhere give way to the cgroup above. */
TEST(a_cgroup_that_is_removed)
{
	struct peer owner, peer;
	char pid[20];
	u64 cookie;

	group("stay", LIMIT);
	file_set(in_group("stay", "cgroup.subtree_control"), "+memory");
	group("stay/first", "max");
	group("stay/second", "max");
	owner = owner_new("stay/first", 32 * MIB, &cookie);
	peer_call(&owner, p_fill, 0, 16 * MIB);
	peer = peer_new();
	CHECK_EQ(peer_call(&peer, p_read_on, cookie, 16 * MIB, 300, ALL_PINNED), 0);
	snprintf(pid, sizeof(pid), "%d", owner.pid);
	file_set(in_group("stay/second", "cgroup.procs"), pid);
	CHECK(!rmdir(in_group("stay/first", "")));
	CHECK_EQ(peer_call(&owner, p_fill, 16 * MIB, 16 * MIB), 0);
	CHECK_EQ(peer_call(&peer, p_read_on, cookie, 32 * MIB, 1000), 0);
	CHECK_EQ(peer_call(&owner, p_holds, 32 * MIB), 1);
	peer_end(&peer);
	peer_end(&owner);
}

enum { MANY = 20 };
static u64 cookies[MANY];

static long p_touch_on(long *a) /* ms: touches mappings of all owners again and again */
{
	double end = seconds_now() + a[0] / 1e3;
	char *m[MANY];
	int i;

	for (i = 0; i < MANY; i++) {
		m[i] = map(cookies[i], 0, MIB, PROT_READ);
		if (m[i] == MAP_FAILED)
			return -errno;
	}
	while (seconds_now() < end) {
		for (i = 0; i < MANY; i++)
			(void)*(volatile char *)m[i];
		usleep(2000);
	}
	return 0;
}

/* Cgroups that are not at their limits, whose pins come back as soon as they are dropped. */
TEST(reclaim_of_the_machine_is_not_delayed)
{
	struct peer owners[MANY], peer;
	char each[20];
	double start;
	int i;

	for (i = 0; i < MANY; i++) {
		snprintf(each, sizeof(each), "of-many-%d", i);
		group(each, "max");
		owners[i] = owner_new(each, MIB, &cookies[i]);
		peer_call(&owners[i], p_fill, 0, MIB);
	}
	peer = peer_new();
	peer_start(&peer, p_touch_on, 5000);
	usleep(1000000);
	start = seconds_now();
	file_set("/proc/sys/vm/drop_caches", "2");
	printf("# %.3f s\n", seconds_now() - start);
	CHECK(seconds_now() - start < 1.5);
	CHECK_EQ(peer_result(&peer), 0);
	peer_end(&peer);
	for (i = 0; i < MANY; i++)
		peer_end(&owners[i]);
}

/* All of the machine's: what is dropped comes back with the next copies. */
TEST(pressure_of_the_machine)
{
	struct peer peer = peer_new();
	char *p = memory(SMALL, 16 * MIB);
	u64 cookie;

	fill(p, 16 * MIB, 5);
	cookie = reg(p, 16 * MIB, KCOLL_READ | KCOLL_EAGER);
	CHECK(cookie);
	CHECK_EQ(pinned_pages(), 4096);
	file_set("/proc/sys/vm/drop_caches", "2");
	CHECK_EQ(p_wait_pinned((long[]){0}), 0);
	CHECK_EQ(peer_call(&peer, p_read_on, cookie, 16 * MIB, 300, ALL_PINNED), 0);
	CHECK_EQ(p_wait_pinned((long[]){4096}), 4096);
	peer_end(&peer);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
