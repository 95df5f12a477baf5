// SPDX-License-Identifier: BSD-3-Clause
/*
 * Kernel memory that a user's processes keep, other than pinned pages, has a limit: whatever it is for.
 * Why this file is long: one short test for each thing that takes some.
 */
#include <grp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/stat.h>

#include "kcoll_test.h"

enum { LIMIT_MB = 4, UID = 1250 };

static void become(int uid)
{
	struct rlimit files = {100000, 100000};

	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
	CHECK(!chmod(KCOLL_DEVICE, 0666));
	CHECK(!setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid));
	prctl(PR_SET_DUMPABLE, 1);
	device_again();
}

static int unreg_nowait(u64 cookie)
{
	struct kcoll_unregister args = {.size = sizeof(args), .flags = KCOLL_NOWAIT, .cookie = cookie};

	return ioctl(device(), KCOLL_UNREGISTER, &args);
}

/* How often it succeeds; it must end with EDQUOT, and not at once. `what`: printed, what it makes. */
static int until_refused(bool (*once)(int i), const char *what)
{
	enum { MOST = 60000 };
	int n = 0;

	while (n < MOST && once(n))
		n++;
	CHECK(n < MOST);
	CHECK_EQ(errno, EDQUOT);
	printf("# %d %s in %d MiB\n", n, what, LIMIT_MB);
	CHECK(n > 100);
	return n;
}

/* The first that a test has opened. */
static void close_descriptors(int n)
{
	int fd;

	for (fd = 3; fd < 3 + n; fd++)
		close(fd);
}

static char *p;

static bool dead_but_mapped(int i)
{
	u64 cookie = reg(p, 64 * HUGE, KCOLL_READ);

	if (!cookie)
		return false;
	if (map(cookie, 0, PAGE, PROT_READ) == MAP_FAILED)
		return false;
	return !unreg_nowait(cookie);
}

static long p_registers(long *a) /* user */
{
	become(a[0]);
	return reg(p, HUGE, KCOLL_READ) ? 0 : -errno;
}

/* A region that has ended takes memory as long as a mapping of it is left. */
TEST(regions_that_are_only_mapped_are_charged)
{
	struct peer other;

	parameter("max_metadata_mb", "4");
	p = memory(SMALL, 64 * HUGE);
	other = peer_new();
	become(UID);
	until_refused(dead_but_mapped, "regions");
	/* Another user is not affected. */
	CHECK_EQ(peer_call(&other, p_registers, UID + 9), 0);
	peer_end(&other);
}

/* A process that registers a page and ends, while this one maps the page. */
static bool dead_process_but_mapped(int i)
{
	int pipes[2], status;
	u64 cookie = 0;
	bool mapped;
	pid_t pid;

	CHECK(!pipe(pipes));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		cookie = device_new(KCOLL_JOIN_USER, 0) < 0 ? 0 : reg(p, PAGE, KCOLL_READ);
		if (!cookie)
			_exit(errno);
		_exit(write(pipes[1], &cookie, sizeof(cookie)) != sizeof(cookie) || pause());
	}
	close(pipes[1]);
	if (read(pipes[0], &cookie, sizeof(cookie)) != sizeof(cookie)) {
		close(pipes[0]);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		errno = WEXITSTATUS(status);
		return false;
	}
	close(pipes[0]);
	mapped = map(cookie, 0, PAGE, PROT_READ) != MAP_FAILED;
	i = errno;
	CHECK(!kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	errno = i;
	return mapped;
}

/*
 * What a region keeps of its process counts, too: the top of its page tables, beside the page that may be shown and the
 * one of its generation.
 */
TEST(processes_that_have_ended_are_charged)
{
	parameter("max_metadata_mb", "4");
	p = memory(SMALL, HUGE);
	become(UID + 15);
	CHECK(until_refused(dead_process_but_mapped, "processes") * 3 * PAGE <= LIMIT_MB << 20);
}

static bool opens(int i) { return device_open() >= 0; }

TEST(descriptors_are_charged)
{
	int i;

	parameter("max_metadata_mb", "4");
	become(UID + 1);
	until_refused(opens, "descriptors");
	/* What is closed is given back. */
	close_descriptors(100);
	for (i = 0; i < 50; i++)
		CHECK(opens(i));
}

static bool joins(int i) { return device_new(0, i + 1) >= 0; }

TEST(domains_are_charged)
{
	parameter("max_metadata_mb", "4");
	become(UID + 2);
	close_descriptors(until_refused(joins, "domains"));
	usleep(500000);
	CHECK(joins(0));
}

static bool registers_alone(int i)
{
	dev = device_open();
	return dev >= 0 && reg(p + 1, 100, KCOLL_READ);
}

/* So is the domain of a descriptor that has joined none, from its first region on. */
TEST(domains_of_their_own_are_charged)
{
	int alone, together = 0;

	parameter("max_metadata_mb", "4");
	p = memory(SMALL, HUGE);
	become(UID + 15);
	alone = until_refused(registers_alone, "descriptors with a region and a domain");
	close_descriptors(alone + 1);
	usleep(500000);
	device_again();
	while (together < 2 * alone && device_new(KCOLL_JOIN_USER, 0) >= 0 && reg(p + 1, 100, KCOLL_READ))
		together++;
	printf("# %d of them in one domain\n", together);
	CHECK(together > alone + alone / 8);
}

static u64 theirs;

static bool keeps_what_is_gone(int i)
{
	struct kcoll_attach at;
	int before = dev;

	/* Each descriptor remembers the regions that it has attached. */
	return device_new(KCOLL_JOIN_USER, 0) >= 0 && !attach(theirs, &at) && before >= 0;
}

TEST(attachments_are_charged)
{
	parameter("max_metadata_mb", "4");
	p = memory(SMALL, HUGE);
	become(UID + 3);
	theirs = reg(p, HUGE, KCOLL_READ);
	CHECK(theirs);
	until_refused(keeps_what_is_gone, "descriptors with an attachment");
}

/* --- what is charged is what is taken --- */

/* A line of /proc/meminfo, in KiB. */
static long memory_line(const char *name)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[200];
	long kib = -1;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			kib = atol(line + strlen(name) + 1);
	fclose(file);
	CHECK(kib >= 0);
	return kib;
}

enum { APART = 64, SPREAD = 2000 };
static u64 spread[SPREAD];

static bool attaches_far_apart(int n)
{
	struct kcoll_attach at;
	int i;

	if (n % (SPREAD / APART) == 0)
		device_new(KCOLL_JOIN_USER, 0);
	i = n % (SPREAD / APART) * APART;
	return dev >= 0 && !attach(spread[i], &at);
}

/* Kernels that check their memory (KASAN) put something beside each object, and keep freed ones for a while. */
static bool checks_memory(void)
{
	static const char *const files[] = {"object_size", "slab_size"};
	int sizes[2] = {0, 0}, i;
	char path[100];

	for (i = 0; i < 2; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "/sys/kernel/slab/kmalloc-cg-64/%s", files[i]);
		file = fopen(path, "r");
		if (!file)
			return false;
		CHECK_EQ(fscanf(file, "%d", &sizes[i]), 1);
		fclose(file);
	}
	return sizes[1] != sizes[0];
}

TEST(attachments_far_apart_take_what_they_are_charged)
{
	const bool checked = checks_memory(); /* while this is root */
	long before;
	int i;

	parameter("max_metadata_mb", "4");
	p = memory(SMALL, HUGE);
	become(UID + 6);
	before = memory_line("Slab");
	for (i = 0; i < SPREAD; i++)
		CHECK(spread[i] = reg(p + 1, 100, KCOLL_READ));
	until_refused(attaches_far_apart, "attachments and some regions");
	printf("# %ld KiB\n", memory_line("Slab") - before);
	if (checked)
		printf("# not compared: this kernel puts something beside each object\n");
	else
		CHECK(memory_line("Slab") - before < 3 * LIMIT_MB << 9);
}

/* Its domain, the page with its generation, and the one that is shown where there is no memory. */
static bool maps_alone(int i)
{
	u64 cookie;

	dev = device_open();
	cookie = dev < 0 ? 0 : reg(p, PAGE, KCOLL_READ);
	return cookie && map_quiet(cookie, 0, PAGE, PROT_READ) != MAP_FAILED;
}

TEST(pages_of_regions_are_charged)
{
	long before, taken;

	parameter("max_metadata_mb", "4");
	group("charged", "max");
	group_join("charged");
	p = memory(SMALL, HUGE);
	become(UID + 7);
	before = group_memory("charged");
	until_refused(maps_alone, "descriptors, regions and mappings");
	taken = group_memory("charged") - before;
	printf("# %ld KiB\n", taken >> 10);
	CHECK(taken > LIMIT_MB << 20 && taken < 2 * LIMIT_MB << 20);
}

/* --- users of a user --- */

/* Makes a user namespace and waits for its ids; then becomes one of them. */
static long p_new_namespace(long *a) /* user */
{
	become(a[0]);
	return unshare(CLONE_NEWUSER) ? -errno : 0;
}

static bool registers(int i) { return reg(p, 64 * HUGE, KCOLL_READ); }

static long p_subordinate(long *a) /* id there: how many it may register, or -errno */
{
	int n = 0;

	if (setresuid(a[0], a[0], a[0]))
		return -errno;
	close(dev);
	dev = device_open();
	while (dev >= 0 && n < 3000 && registers(n))
		n++;
	return errno == EDQUOT ? n : -errno;
}

static void give_ids(pid_t pid, unsigned int first)
{
	char path[64], map[64];

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	snprintf(map, sizeof(map), "0 %u 1000", first);
	file_set(path, map);
}

/* As newuidmap gives every user 65536 of them. */
TEST(subordinate_ids_are_their_user)
{
	struct peer one = peer_new(), two = peer_new(), other = peer_new();
	long n;

	parameter("max_metadata_mb", "4");
	p = memory(SMALL, 64 * HUGE);
	if (peer_call(&one, p_new_namespace, UID + 8))
		skip("no user namespaces");
	CHECK_EQ(peer_call(&two, p_new_namespace, UID + 8), 0);
	give_ids(one.pid, 200000);
	give_ids(two.pid, 300000);
	n = peer_call(&one, p_subordinate, 5);
	printf("# %ld regions, then %ld\n", n, peer_call(&two, p_subordinate, 6));
	CHECK(n > 100);
	CHECK(peer_call(&two, p_subordinate, 7) < n / 10);
	/* The user has none left, either; another has. */
	CHECK_EQ(peer_call(&other, p_registers, UID + 10), 0);
	peer_end(&one);
	peer_end(&two);
	peer_end(&other);
}

/* --- who pays for what is gone --- */

static long p_map_one(long *a) { return map(a[0], 0, PAGE, PROT_READ) == MAP_FAILED ? -errno : 0; }
static long p_become(long *a)
{
	become(a[0]);
	return join(77) ? -errno : 0;
}

/* With cross_userns, who still maps what another user has given up pays for it, and the other can go on. */
TEST(who_maps_what_is_gone_pays_for_it)
{
	struct peer mapper = peer_new();
	int i, refused = 0;

	parameter("max_metadata_mb", "4");
	parameter("cross_userns", "Y");
	p = memory(SMALL, 64 * HUGE);
	CHECK_EQ(peer_call(&mapper, p_become, UID + 5), 0);
	become(UID + 4);
	CHECK(!join(77));
	for (i = 0; i < 3000; i++) {
		u64 cookie = reg(p, 64 * HUGE, KCOLL_READ);

		CHECK(cookie);
		refused = peer_call(&mapper, p_map_one, cookie);
		CHECK(!refused || refused == -EDQUOT);
		CHECK(!unreg(cookie));
		if (refused)
			break;
	}
	printf("# refused after %d mappings\n", i);
	CHECK_EQ(refused, -EDQUOT);
	CHECK(i > 100);
	/* The owner registers as much as before. */
	for (i = 0; i < 200; i++)
		CHECK(reg(p, 64 * HUGE, KCOLL_READ));
	peer_end(&mapper);
}

static long p_maps_own(long *a)
{
	u64 cookie = reg(p, 64 * HUGE, KCOLL_READ);

	return cookie && map(cookie, 0, PAGE, PROT_READ) != MAP_FAILED ? 0 : -errno;
}

enum { SOME = 100 };
static volatile u64 *cookies; /* shared with peers */

static long p_maps_and_unmaps(long *a)
{
	int i;

	for (i = 0; i < SOME; i++) {
		char *m = map(cookies[i], 0, PAGE, PROT_READ);

		if (m == MAP_FAILED || munmap(m, PAGE))
			return -errno;
	}
	return 0;
}

/* Registers some, maps them itself, has another user map and unmap them, and ends them: 0, or -errno of REGISTER. */
static int leave_behind(struct peer *other)
{
	int i;

	for (i = 0; i < SOME; i++) {
		cookies[i] = reg(p, 64 * HUGE, KCOLL_READ);
		if (!cookies[i])
			return -errno;
		if (map(cookies[i], 0, PAGE, PROT_READ) == MAP_FAILED)
			return -errno;
	}
	CHECK_EQ(peer_call(other, p_maps_and_unmaps), 0);
	for (i = 0; i < SOME; i++)
		CHECK(!unreg_nowait(cookies[i]));
	return 0;
}

/* Who has unmapped it does not pay, although it was the last to map it. */
TEST(who_maps_it_no_more_does_not_pay)
{
	struct peer other;
	int round, refused = 0;

	parameter("max_metadata_mb", "4");
	parameter("cross_userns", "Y");
	p = memory(SMALL, 64 * HUGE);
	cookies = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(cookies != MAP_FAILED);
	other = peer_new();
	CHECK_EQ(peer_call(&other, p_become, UID + 12), 0);
	become(UID + 11);
	CHECK(!join(77));
	for (round = 0; round < 20 && !refused; round++)
		refused = leave_behind(&other);
	printf("# refused in round %d\n", round);
	CHECK_EQ(refused, -EDQUOT);
	CHECK_EQ(peer_call(&other, p_maps_own), 0);
	peer_end(&other);
}

/* --- the same while a copy holds what is gone: its buffer's pages never come in (userfaultfd) --- */

enum { HELD = 64, RANGES = 1024 };
static char *missing;
static volatile u64 *kept;

static long p_map_generation(long *a)
{
	kept = map_generation(a[0]);
	return kept ? 0 : -errno;
}

static long p_unmap_it(long *a) { return munmap((void *)((u64)kept & ~(PAGE - 1)), PAGE); }

static void *stalled_copy(void *cookie)
{
	static int n;

	copy((u64)cookie, 0, missing + n++ * PAGE, 1, KCOLL_READ);
	return NULL;
}

TEST(who_maps_it_no_more_does_not_pay_for_a_copy)
{
	static struct kcoll_range ranges[RANGES];
	int faults, i;
	struct peer other = peer_new();

	parameter("max_metadata_mb", "4");
	parameter("cross_userns", "Y");
	p = memory(SMALL, 64 * HUGE);
	for (i = 0; i < RANGES; i++)
		ranges[i] = (struct kcoll_range){.addr = (u64)p + 2 * i * PAGE, .len = PAGE};
	memset(p, 1, PAGE);
	missing = memory_missing(HUGE, &faults);
	CHECK_EQ(peer_call(&other, p_become, UID + 14), 0);
	become(UID + 13);
	CHECK(!join(77));
	for (i = 0; i < HELD; i++) {
		u64 cookie = reg_ranges(ranges, RANGES, KCOLL_READ);
		struct uffd_msg message;
		pthread_t thread;

		if (!cookie)
			break;
		CHECK(!pthread_create(&thread, NULL, stalled_copy, (void *)cookie));
		CHECK_EQ(read(faults, &message, sizeof(message)), sizeof(message));
		CHECK_EQ(peer_call(&other, p_map_generation, cookie), 0);
		CHECK(!unreg_nowait(cookie));
		CHECK_EQ(peer_call(&other, p_unmap_it), 0);
	}
	printf("# refused after %d\n", i);
	CHECK(i > 10 && i < HELD);
	CHECK_EQ(peer_call(&other, p_maps_own), 0);
	peer_end(&other);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
