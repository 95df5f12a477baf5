// SPDX-License-Identifier: BSD-3-Clause
/* Permissions: users, namespaces, domains, cookies, descriptors. */
#include <grp.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "kcoll_test.h"

static long p_become(long *a) /* reopens the device, which may need root, then sets the uid */
{
	device_again();
	if (setgroups(0, NULL) || setresgid(a[0], a[0], a[0]) || setresuid(a[0], a[0], a[0]))
		return -errno;
	return 0;
}

static long p_euid(long *a)
{
	device();
	return seteuid(a[0]) ? -errno : 0;
}

static long p_userns(long *a)
{
	device();
	return unshare(CLONE_NEWUSER) ? -errno : 0;
}

static long p_join(long *a) { return join(a[0]) ? -errno : 0; }
static long p_join_user(long *a) { return join_this(KCOLL_JOIN_USER, 0) ? -errno : 0; }

static long p_reg(long *a) /* address, length, flags: the cookie by pointer (shared memory) */
{
	*(u64 *)a[3] = reg((void *)a[0], a[1], a[2]);
	return *(u64 *)a[3] ? 0 : -errno;
}

static long p_refill(long *a) /* address, length, seed: other memory there */
{
	if (mmap((void *)a[0], a[1], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		return -errno;
	fill((void *)a[0], a[1], a[2]);
	return 0;
}

static u64 *shared_word(void) { return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); }

TEST(another_user_is_refused)
{
	char *p = memory(SMALL, HUGE);
	struct peer stranger = peer_new(), peer = peer_new();
	u64 cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE);

	fill(p, HUGE, 1);
	CHECK_EQ(peer_call(&stranger, p_become, 1234), 0);
	CHECK_EQ(peer_call(&stranger, p_read_check, cookie, 0, 100, 1, 0), -EACCES);
	CHECK_EQ(peer_call(&stranger, p_write, cookie, 0, 100, 1), -EACCES);
	CHECK_EQ(peer_call(&stranger, p_map, cookie, 0, PAGE, PROT_READ), -EACCES);
	CHECK_EQ(peer_call(&stranger, p_sync, cookie, 0), -EACCES);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, 100, 1, 0), 0);
	/* The effective user counts. */
	CHECK_EQ(peer_call(&peer, p_euid, 1234), 0);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, 100, 1, 0), -EACCES);
	peer_end(&stranger);
	peer_end(&peer);
}

TEST(same_unprivileged_user_is_served)
{
	char *p = memory(SMALL, HUGE);
	struct peer a = peer_new(), b = peer_new();
	u64 *cookie = shared_word();

	fill(p, HUGE, 1);
	fill(p, HUGE, 1);
	struct peer owner = peer_new(); /* has p's contents, copied */
	CHECK_EQ(peer_call(&owner, p_become, 1234), 0);
	CHECK_EQ(peer_call(&a, p_become, 1234), 0);
	CHECK_EQ(peer_call(&b, p_become, 1235), 0);
	CHECK_EQ(peer_call(&owner, p_reg, (long)p, HUGE, KCOLL_READ, (long)cookie), 0);
	CHECK_EQ(peer_call(&a, p_read_check, *cookie, 0, HUGE, 1, 0), 0);
	CHECK_EQ(peer_call(&b, p_read_check, *cookie, 0, HUGE, 1, 0), -EACCES);
	/* Root is refused, too: it is another user. */
	CHECK_ERR(copy(*cookie, 0, p, 100, KCOLL_READ), EACCES);
	peer_end(&owner);
	peer_end(&a);
	peer_end(&b);
}

TEST(another_user_namespace_is_refused_unless_allowed_and_joined)
{
	char *p = memory(SMALL, HUGE);
	struct peer plain = peer_new(), other = peer_new(), member = peer_new(), wrong = peer_new();
	u64 cookie, joined;

	fill(p, HUGE, 1);
	cookie = reg(p, HUGE, KCOLL_READ);
	if (peer_call(&other, p_userns))
		skip("no user namespaces");
	CHECK_EQ(peer_call(&other, p_read_check, cookie, 0, 100, 1, 0), -EACCES);

	CHECK(!join(42));
	joined = reg(p, HUGE, KCOLL_READ);
	CHECK(joined);
	CHECK_EQ(peer_call(&member, p_join, 42), 0);
	CHECK_EQ(peer_call(&wrong, p_join, 43), 0);
	CHECK_EQ(peer_call(&member, p_read_check, joined, 0, 100, 1, 0), 0);
	CHECK_EQ(peer_call(&wrong, p_read_check, joined, 0, 100, 1, 0), -ENOENT);
	CHECK_EQ(peer_call(&plain, p_read_check, joined, 0, 100, 1, 0), -ENOENT);
	CHECK_EQ(peer_call(&member, p_userns), 0);
	CHECK_EQ(peer_call(&member, p_read_check, joined, 0, 100, 1, 0), -EACCES);
	parameter("cross_userns", "Y");
	CHECK_EQ(peer_call(&member, p_read_check, joined, 0, 100, 1, 0), 0);
	CHECK_EQ(peer_call(&wrong, p_read_check, joined, 0, 100, 1, 0), -ENOENT);
	CHECK_EQ(peer_call(&other, p_read_check, joined, 0, 100, 1, 0), -ENOENT);
	parameter("cross_userns", "N");
	CHECK_EQ(peer_call(&member, p_read_check, joined, 0, 100, 1, 0), -EACCES);
}

static long p_open_again(long *a)
{
	device_again();
	return 0;
}

static long p_alone(long *a)
{
	device_alone();
	return 0;
}

/* A descriptor that has joined nothing shares nothing, also with descriptors of its process and its user. */
TEST(what_has_joined_nothing_has_a_domain_of_its_own)
{
	char *p = memory(SMALL, 2 * HUGE), *mine, *other, x[8];
	u64 *theirs = shared_word(), first, second, by_peer;
	struct kcoll_stats before, after;
	struct kcoll_attach at, at_other;
	struct peer alone = peer_new(), user = peer_new();
	int one, two;

	fill(p, HUGE, 1);
	fill(p + HUGE, HUGE, 2);
	device_alone();
	one = dev;
	/* With no region it has no domain yet: it names nothing, and counts nothing. */
	CHECK_ERR(copy(1, 0, x, 8, KCOLL_READ), ENOENT);
	CHECK(!stats_get(KCOLL_STATS_ALL, &before) && !before.copies);
	first = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER);
	dev = -1;
	device_alone();
	two = dev;
	second = reg(p + HUGE, HUGE, KCOLL_READ | KCOLL_EAGER);
	CHECK(first && second && !copy(second, 0, x, 8, KCOLL_READ));
	/* Regions. */
	CHECK_ERR(copy(first, 0, x, 8, KCOLL_READ), ENOENT);
	CHECK_ERR(copy2(first, 0, second, 0, 8), ENOENT);
	CHECK_ERR(attach(first, &at), ENOENT);
	CHECK_ERR(sync_region(first, NULL), ENOENT);
	CHECK_ERR(unreg(first), ENOENT);
	CHECK_EQ(peer_call(&alone, p_alone, 0), 0);
	CHECK_EQ(peer_call(&alone, p_read_check, first, 0, 100, 1, 0), -ENOENT);
	CHECK_EQ(peer_call(&user, p_read_check, first, 0, 100, 1, 0), -ENOENT);
	CHECK_EQ(peer_call(&alone, p_reg, (long)p, PAGE, KCOLL_READ | KCOLL_EAGER, (long)theirs), 0);
	by_peer = *theirs;
	CHECK_ERR(copy(by_peer, 0, x, 8, KCOLL_READ), ENOENT);
	CHECK_EQ(peer_call(&user, p_read_check, by_peer, 0, 100, 1, 0), -ENOENT);
	CHECK_EQ(peer_call(&alone, p_sync, by_peer, 0), 0);
	/* Offsets: each domain has the first one, for its own region. */
	CHECK(!attach(second, &at_other));
	other = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, two, at_other.map_offset);
	dev = one;
	CHECK(!attach(first, &at));
	CHECK_EQ(at.map_offset, at_other.map_offset);
	mine = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, one, at.map_offset);
	CHECK(mine != MAP_FAILED && filled(mine, PAGE, 1, 0) && other != MAP_FAILED && filled(other, PAGE, 2, 0));
	/* Statistics: what all the others did is not in them. */
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	CHECK_EQ(after.pins, 1);
	CHECK_EQ(after.pin_pages, HUGE / PAGE);
	CHECK_EQ(after.copies, 0);
	dev = two;
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	CHECK_EQ(after.copies, 1);
	/* What maps it keeps it. */
	close(one);
	CHECK(filled(other, PAGE, 2, 0));
	peer_end(&alone);
	peer_end(&user);
}

/*
 * Regions that processes of a user can name, which the library needs before its processes agree on a key
 * (docs/kcoll-design.md), are invisible to processes of other users, of other namespaces, or with a key.
 */
TEST(the_domain_of_a_user_is_joined_by_the_flag)
{
	char *p = memory(SMALL, HUGE), x[8];
	u64 *shared = shared_word(), cookie;
	struct peer same = peer_new(), alone = peer_new(), joined = peer_new(), user = peer_new(), space = peer_new();
	struct kcoll_stats before, after;

	CHECK(!chmod(KCOLL_DEVICE, 0666));
	fill(p, HUGE, 1);
	device_alone();
	CHECK(!join_this(KCOLL_JOIN_USER, 0));
	cookie = reg(p, HUGE, KCOLL_READ);
	CHECK(!stats_get(KCOLL_STATS_ALL, &before));
	CHECK_EQ(peer_call(&same, p_alone, 0), 0);
	CHECK_EQ(peer_call(&same, p_join_user, 0), 0);
	CHECK_EQ(peer_call(&same, p_read_check, cookie, 0, 100, 1, 0), 0);
	CHECK_EQ(peer_call(&same, p_map, cookie, 0, PAGE, PROT_READ) > 0, 1);
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	CHECK_EQ(after.copies - before.copies, 1);
	CHECK_EQ(peer_call(&alone, p_alone, 0), 0);
	CHECK_EQ(peer_call(&alone, p_read_check, cookie, 0, 100, 1, 0), -ENOENT);
	CHECK_EQ(peer_call(&joined, p_join, 7), 0);
	CHECK_EQ(peer_call(&joined, p_read_check, cookie, 0, 100, 1, 0), -ENOENT);
	CHECK_EQ(peer_call(&user, p_become, 1234), 0);
	CHECK_EQ(peer_call(&user, p_open_again, 0), 0);
	CHECK_EQ(peer_call(&user, p_read_check, cookie, 0, 100, 1, 0), -ENOENT);
	if (peer_call(&space, p_userns))
		skip("no user namespaces");
	CHECK_EQ(peer_call(&space, p_open_again, 0), 0);
	CHECK_EQ(peer_call(&space, p_read_check, cookie, 0, 100, 1, 0), -ENOENT);
	/* Their regions and work are not visible here. */
	CHECK(!stats_get(KCOLL_STATS_ALL, &before));
	CHECK_EQ(peer_call(&user, p_reg, (long)p, PAGE, KCOLL_READ | KCOLL_EAGER, (long)shared), 0);
	CHECK_ERR(copy(*shared, 0, x, 8, KCOLL_READ), ENOENT);
	CHECK_EQ(peer_call(&space, p_reg, (long)p, PAGE, KCOLL_READ | KCOLL_EAGER, (long)shared), 0);
	CHECK_ERR(copy(*shared, 0, x, 8, KCOLL_READ), ENOENT);
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	CHECK_EQ(after.pins, before.pins);
}

TEST(join_once_and_before_registering)
{
	char *p = memory(SMALL, HUGE);
	u64 cookie;
	int i;

	device_alone();
	CHECK_ERR(join_this(0, 0), EINVAL);
	CHECK_ERR(join_this(KCOLL_JOIN_USER, 1), EINVAL);
	for (i = 1; i < 32; i++)
		CHECK_ERR(join_this(1U << i, 1), EINVAL);
	CHECK(!join_this(0, 1));
	CHECK_ERR(join_this(0, 1), EBUSY);
	CHECK_ERR(join_this(KCOLL_JOIN_USER, 0), EBUSY);
	device_alone();
	CHECK(!join_this(KCOLL_JOIN_USER, 0));
	CHECK_ERR(join_this(KCOLL_JOIN_USER, 0), EBUSY);
	CHECK_ERR(join_this(0, 1), EBUSY);
	device_alone();
	/* What is refused does not bind it. */
	CHECK_ERR(reg(NULL, 0, KCOLL_READ) ? 0 : -1, EINVAL);
	CHECK(!join_this(0, 1));
	device_alone();
	cookie = reg(p, PAGE, KCOLL_READ);
	CHECK_ERR(join_this(0, 1), EBUSY);
	CHECK(!unreg(cookie));
	CHECK_ERR(join_this(0, 1), EBUSY);
	CHECK_ERR(join_this(KCOLL_JOIN_USER, 0), EBUSY);
}

TEST(join_before_attaching)
{
	char *p = memory(SMALL, HUGE);
	u64 *cookie = shared_word();
	struct peer peer = peer_new();
	struct kcoll_attach at;

	CHECK_EQ(peer_call(&peer, p_reg, (long)p, PAGE, KCOLL_READ, (long)cookie), 0);
	CHECK(!attach(*cookie, &at));
	/* The offset names another region in another domain. */
	CHECK_ERR(join_this(0, 1), EBUSY);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dev, at.map_offset) != MAP_FAILED);
	peer_end(&peer);
}

TEST(mappings_of_a_domain_show_its_regions_only)
{
	enum { DOMAINS = 8 };
	char *p = memory(SMALL, DOMAINS * PAGE), *m[DOMAINS], x[8];
	u64 cookie[DOMAINS];
	int i, j, fd[DOMAINS];

	/* Each domain numbers its regions from the same index, so the offsets are equal. */
	for (i = 0; i < DOMAINS; i++) {
		fill(p + i * PAGE, PAGE, i);
		dev = -1;
		CHECK(!join(500 + i));
		fd[i] = dev;
		cookie[i] = reg(p + i * PAGE, PAGE, KCOLL_READ | KCOLL_WRITE);
		m[i] = map(cookie[i], 0, PAGE, PROT_READ);
		CHECK(m[i] != MAP_FAILED && filled(m[i], PAGE, i, 0));
	}
	/* If one owner replaces its memory, the mappings of the others do not change. */
	for (i = 0; i < DOMAINS; i++) {
		CHECK(mmap(p + i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			   0) == p + i * PAGE);
		fill(p + i * PAGE, PAGE, 100 + i);
		dev = fd[i];
		CHECK(!sync_region(cookie[i], NULL));
		for (j = 0; j < DOMAINS; j++)
			CHECK(filled(m[j], PAGE, j <= i ? 100 + j : j, 0));
	}
	/* A cookie of another domain names nothing. */
	for (i = 1; i < DOMAINS; i++)
		CHECK_ERR(copy(cookie[i - 1], 0, x, 8, KCOLL_READ), ENOENT);
}

TEST(a_mapping_outlives_its_descriptor)
{
	char *p = memory(SMALL, HUGE), *m;
	u64 *cookie = shared_word();

	fill(p, HUGE, 1);
	struct peer owner = peer_new(); /* has p's contents, copied */
	CHECK_EQ(peer_call(&owner, p_reg, (long)p, HUGE, KCOLL_READ, (long)cookie), 0);
	m = map(*cookie, 0, HUGE, PROT_READ);
	CHECK(m != MAP_FAILED && filled(m, PAGE, 1, 0));
	close(dev);
	dev = -1;
	CHECK(filled(m + PAGE, HUGE - PAGE, 1, PAGE));
	/* The mapping still follows its owner. */
	CHECK_EQ(peer_call(&owner, p_refill, (long)p, HUGE, 2), 0);
	CHECK(!sync_region(*cookie, NULL));
	CHECK(filled(m, HUGE, 2, 0));
	CHECK(!munmap(m, HUGE));
	peer_end(&owner);
}

TEST(forged_and_old_cookies)
{
	char *p = memory(SMALL, HUGE), x[8];
	u64 cookie = reg(p, PAGE, KCOLL_READ), again;
	int i;

	for (i = 0; i < 64; i++)
		CHECK_ERR(copy(cookie ^ (1UL << i), 0, x, 8, KCOLL_READ), ENOENT);
	for (i = 0; i < 10000; i++)
		CHECK_ERR(copy(test_random(), 0, x, 8, KCOLL_READ), ENOENT);
	CHECK_ERR(copy(0, 0, x, 8, KCOLL_READ), ENOENT);
	CHECK(!unreg(cookie));
	again = reg(p, PAGE, KCOLL_READ);
	CHECK(again != cookie);
	CHECK_ERR(copy(cookie, 0, x, 8, KCOLL_READ), ENOENT);
	/* A process cannot unregister the region of another one. */
	u64 *theirs = shared_word();
	struct peer peer = peer_new();
	CHECK_EQ(peer_call(&peer, p_reg, (long)p, PAGE, KCOLL_READ, (long)theirs), 0);
	CHECK_ERR(unreg(*theirs), ENOENT);
	peer_end(&peer);
}

TEST(an_inherited_descriptor_opens_nothing)
{
	char *p = memory(SMALL, HUGE), x[8];
	u64 cookie = reg(p, HUGE, KCOLL_READ);
	struct kcoll_attach at;
	int status;

	CHECK(!attach(cookie, &at));
	if (!fork()) {
		struct kcoll_info info = {.size = sizeof(info)};
		bool ok = copy(cookie, 0, x, 8, KCOLL_READ) && errno == EPERM;

		ok &= !reg(p, PAGE, KCOLL_READ) && errno == EPERM;
		ok &= unreg(cookie) && errno == EPERM;
		ok &= ioctl(dev, KCOLL_INFO, &info) && errno == EPERM;
		ok &= mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dev, at.map_offset) == MAP_FAILED && errno == EPERM;
		_exit(!ok);
	}
	wait(&status);
	CHECK_EQ(status, 0);
	/* A thread of this process may use it, and it still works here. */
	CHECK(!copy(cookie, 0, x, 8, KCOLL_READ));
}

/* It can be registered, and not accessed. */
static void cannot_be_pinned(char *p)
{
	u64 cookie = reg(p, PAGE, KCOLL_READ);
	char x[8];

	CHECK(cookie);
	CHECK_ERR(copy(cookie, 0, x, 8, KCOLL_READ), EOPNOTSUPP);
	CHECK(!unreg(cookie));
}

TEST(files_and_devices_are_refused)
{
	int fd = open("/proc/self/exe", O_RDONLY), zero = open("/dev/zero", O_RDWR);
	char *file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0), x[8];
	char *shared =
	    mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0); /* shared memory behind a device */
	char *private = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
	u64 cookie;

	CHECK(file != MAP_FAILED && shared != MAP_FAILED && private != MAP_FAILED);
	cannot_be_pinned(file);
	cookie = reg(shared, PAGE, KCOLL_READ | KCOLL_WRITE | KCOLL_EAGER);
	CHECK(cookie && !copy(cookie, 0, x, 8, KCOLL_WRITE));
	cookie = reg(private, PAGE, KCOLL_READ | KCOLL_WRITE | KCOLL_EAGER);
	CHECK(cookie && !copy(cookie, 0, x, 8, KCOLL_WRITE));
	CHECK_ERR(reg((void *)0xffffffffff600000, PAGE, KCOLL_READ) ? 0 : -1, EINVAL);
}

/* Its node is in a tmpfs, its memory is none. */
TEST(memory_of_block_devices_is_refused)
{
	static const char *const devices[] = {"/dev/vda", "/dev/ram0", "/dev/loop0"};
	char *p = MAP_FAILED;
	size_t i;

	for (i = 0; i < sizeof(devices) / sizeof(*devices) && p == MAP_FAILED; i++) {
		int fd = open(devices[i], O_RDONLY);

		if (fd >= 0)
			p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	}
	if (p == MAP_FAILED)
		skip("no block device");
	cannot_be_pinned(p);
}

/* Every process has these pages in common. */
TEST(memory_of_the_kernel_is_refused)
{
	char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);

	if (!vdso)
		skip("no [vdso]");
	cannot_be_pinned(vdso);
}

TEST(an_empty_domain_is_forgotten)
{
	char *p = memory(SMALL, HUGE);
	struct peer peer = peer_new();
	int i;

	for (i = 0; i < 200; i++) {
		CHECK(!join(1000 + i % 3));
		CHECK(reg(p, PAGE, KCOLL_READ));
	}
	peer_end(&peer);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
