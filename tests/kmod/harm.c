// SPDX-License-Identifier: BSD-3-Clause
/*
 * Processes must not stall each other, see each other, or make a valid access of another process fail. Resources that
 * they share fairly: shares.c. Why this file is long: one short test after the other, harm by harm.
 */
#include <grp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kcoll_test.h"

static void loadable_again(const char *parameters)
{
	int file = open("/run/kcoll.ko", O_RDONLY);

	CHECK(file >= 0);
	CHECK_EQ(syscall(SYS_finit_module, file, parameters, 0), 0);
	close(file);
}

static void unload(void)
{
	double end = seconds_now() + 60;

	while (syscall(SYS_delete_module, "kcoll", O_NONBLOCK)) {
		CHECK(seconds_now() < end);
		usleep(1000);
	}
}

/*
 * Pages wait for their delay while a hurried removal passes: whatever timer that leaves behind must not outlive the
 * module. The kernel would fall over when it fires, after the module's memory has been freed.
 */
TEST(unloading_leaves_no_timer_behind)
{
	enum { ROUNDS = 4 };
	char *p = memory(SMALL, 6 * HUGE), *x = memory(SMALL, HUGE);
	u64 first, second, third;
	int round;

	fill(p, 6 * HUGE, 1);
	for (round = 0; round < ROUNDS; round++) {
		device_again();
		parameter("unpin_delay_ms", "700");
		first = reg(p, HUGE, KCOLL_READ);
		second = reg(p + 2 * HUGE, HUGE, KCOLL_READ);
		third = reg(p + 4 * HUGE, HUGE, KCOLL_READ);
		CHECK(!copy(first, 0, x, HUGE, KCOLL_READ) && !copy(second, 0, x, HUGE, KCOLL_READ));
		CHECK(!madvise(p, PAGE, MADV_DONTNEED));
		CHECK(!sync_region(first, NULL));
		CHECK(!unreg(third));
		CHECK(!madvise(p + 2 * HUGE, PAGE, MADV_DONTNEED));
		close(dev);
		dev = -1;
		unload();
		loadable_again("");
	}
	/* Longer than the delay. */
	usleep(1500000);
	CHECK(reg(p, HUGE, KCOLL_READ));
}

/* What the kernel has logged since it was given a line. */
static char *log_since(const char *line)
{
	static char log[1 << 20];
	int n = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, sizeof(log) - 1);
	char *at;

	CHECK(n >= 0);
	log[n] = '\0';
	at = strstr(log, line);
	CHECK(at);
	return at;
}

/* What users do, right or wrong, is not logged: they could fill the log. */
TEST(the_log_has_a_line_of_loading_and_one_of_unloading)
{
	char *p = memory(SMALL, HUGE), mark[64], loaded[64], version[32] = "", *log, *last;
	struct kcoll_info wrong = {.size = 1};
	int file = open("/sys/module/kcoll/version", O_RDONLY);
	u64 cookie;

	CHECK(read(file, version, sizeof(version) - 1) > 0);
	close(file);
	snprintf(loaded, sizeof(loaded), "kcoll: version %.*s loaded\n", (int)strcspn(version, "\n"), version);
	snprintf(mark, sizeof(mark), "test %d begins", getpid());
	unload();
	file_set("/dev/kmsg", mark);
	loadable_again("");
	device();
	cookie = reg(p, HUGE, KCOLL_READ);
	CHECK(!copy(cookie, 0, p + PAGE, PAGE, KCOLL_READ) && copy(cookie, HUGE, p, PAGE, KCOLL_READ));
	CHECK(ioctl(dev, KCOLL_INFO, &wrong) && ioctl(dev, _IO(KCOLL_MAGIC, 99), 0) && unreg(~cookie));
	close(dev);
	dev = -1;
	unload();
	log = log_since(mark);
	loadable_again("");

	log = strstr(log, "kcoll");
	CHECK(log && !strncmp(log, loaded, strlen(loaded)));
	last = strstr(log + 5, "kcoll");
	CHECK(last && !strncmp(last, "kcoll: unloaded\n", 16));
	CHECK(!strstr(last + 5, "kcoll"));
}

/* --- faults --- */

static __thread sigjmp_buf landing;
static void land(int signal) { siglongjmp(landing, signal); }
static volatile bool stop;
static volatile long good, good_failed, hole_failed;

static void *touches_the_hole(void *page)
{
	while (!stop) {
		if (!sigsetjmp(landing, 1))
			(void)*(volatile char *)page;
		else
			__sync_fetch_and_add(&hole_failed, 1);
	}
	return NULL;
}

static void *touches_the_page(void *page)
{
	while (!stop) {
		if (!sigsetjmp(landing, 1)) {
			(void)*(volatile char *)page;
			__sync_fetch_and_add(&good, 1);
		} else {
			__sync_fetch_and_add(&good_failed, 1);
		}
	}
	return NULL;
}

static void *changes_the_page(void *page)
{
	while (!stop) {
		CHECK(!mprotect(page, PAGE, PROT_READ));
		CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	}
	return NULL;
}

/* Loads of a page that is always there succeed, whatever happens at another page of the region at the same time. */
TEST(an_error_belongs_to_its_access)
{
	struct sigaction act = {.sa_handler = land, .sa_flags = SA_NODEFER};
	char *p = memory(SMALL, HUGE), *m;
	pthread_t threads[4];
	u64 cookie;
	int i;

	fill(p, HUGE, 1);
	CHECK(!munmap(p + 8 * PAGE, PAGE));
	cookie = reg_ranges((struct kcoll_range[]){{(u64)p, PAGE}, {(u64)p + 8 * PAGE, PAGE}}, 2, KCOLL_READ);
	CHECK(cookie);
	m = map(cookie, 0, 2 * PAGE, PROT_READ);
	CHECK(m != MAP_FAILED);
	sigaction(SIGBUS, &act, NULL);
	CHECK(!pthread_create(&threads[0], NULL, touches_the_hole, m + PAGE));
	CHECK(!pthread_create(&threads[1], NULL, touches_the_page, m));
	CHECK(!pthread_create(&threads[2], NULL, touches_the_page, m));
	CHECK(!pthread_create(&threads[3], NULL, changes_the_page, p));
	for (double end = seconds_now() + 60, least = seconds_now() + 3; seconds_now() < end; usleep(10000))
		if (seconds_now() > least && good > 1000 && hole_failed > 100)
			break;
	stop = true;
	for (i = 0; i < 4; i++)
		CHECK(!pthread_join(threads[i], NULL));
	printf("# %ld loads, %ld signals at the hole\n", good, hole_failed);
	CHECK(good > 1000 && hole_failed > 100);
	CHECK_EQ(good_failed, 0);
}

TEST(mappings_cannot_be_made_to_be_inherited)
{
	char *p = memory(SMALL, HUGE), *m;
	u64 cookie = reg(p, HUGE, KCOLL_READ);
	u64 slot = (u64)map_generation(cookie);

	m = map(cookie, 0, PAGE, PROT_READ);
	CHECK(slot && m != MAP_FAILED);
	CHECK_ERR(madvise((void *)(slot & ~(PAGE - 1)), PAGE, MADV_DOFORK), EINVAL);
	CHECK_ERR(madvise(m, PAGE, MADV_DOFORK), EINVAL);
}

/* --- waiting --- */

/* A peer whose buffer is never paged in: its userfaultfd handler does not resolve the fault. */
static pid_t stalled_peer(u64 cookie, u32 direction, int *found)
{
	int ready[2], faults;
	pid_t pid;

	CHECK(!pipe(ready));
	pid = fork();
	if (!pid) {
		char *missing, x[100];

		device_again();
		missing = memory_missing(HUGE, &faults);
		CHECK(!copy(cookie, 0, x, sizeof(x), KCOLL_READ));
		if (!fork()) {
			struct uffd_msg message;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			CHECK_EQ(read(faults, &message, sizeof(message)), sizeof(message));
			CHECK(write(ready[1], "x", 1) == 1);
			pause();
		}
		copy(cookie, 0, missing, HUGE, direction);
		_exit(1);
	}
	*found = ready[0];
	return pid;
}

static long p_register(long *a) /* address, length, where the cookie goes */
{
	*(u64 *)a[2] = reg((void *)a[0], a[1], KCOLL_READ | KCOLL_WRITE);
	return *(u64 *)a[2] ? 0 : -errno;
}

static long p_unregister(long *a) { return unreg(a[0]) ? -errno : 0; }

static void owner_is_not_held(u32 direction, const char *pin_mode)
{
	char *p = memory(SMALL, HUGE), byte;
	int found, status;
	double start;
	u64 cookie;
	pid_t pid;

	parameter("pin_mode", pin_mode);
	fill(p, HUGE, 1);
	cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE);
	pid = stalled_peer(cookie, direction, &found);
	CHECK(read(found, &byte, 1) == 1);
	start = seconds_now();
	CHECK(!unreg(cookie));
	printf("# UNREGISTER took %.3f s\n", seconds_now() - start);
	CHECK(seconds_now() - start < 20);
	CHECK_EQ(pinned_pages(), 0);
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0); /* still stalled */
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	parameter("pin_mode", "0");
}

TEST(a_stalled_reader_does_not_hold_the_owner) { owner_is_not_held(KCOLL_READ, "0"); }
TEST(a_stalled_writer_does_not_hold_the_owner) { owner_is_not_held(KCOLL_WRITE, "0"); }
TEST(a_stalled_uncached_reader_does_not_hold_the_owner) { owner_is_not_held(KCOLL_READ, "2"); }

/* Between two regions, of which one does not come in: the owner of the other is not held. */
static void copy2_holds_none(bool stalled_first, const char *pin_mode)
{
	int faults, status;
	char *p = memory(SMALL, HUGE), *missing = memory_missing(HUGE, &faults);
	u64 *theirs = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), ours;
	struct peer owner = peer_new(); /* has p as well */
	struct uffd_msg message;
	double start;
	pid_t pid;

	parameter("pin_mode", pin_mode);
	ours = reg(missing, HUGE, KCOLL_READ | KCOLL_WRITE);
	CHECK_EQ(peer_call(&owner, p_register, (long)p, HUGE, (long)theirs), 0);
	pid = fork();
	if (!pid) {
		char x[100];

		device_again();
		copy(*theirs, 0, x, sizeof(x), KCOLL_READ);
		stalled_first ? copy2(ours, 0, *theirs, 0, HUGE) : copy2(*theirs, 0, ours, 0, HUGE);
		_exit(1);
	}
	CHECK_EQ(read(faults, &message, sizeof(message)), sizeof(message));
	start = seconds_now();
	CHECK_EQ(peer_call(&owner, p_unregister, *theirs), 0);
	CHECK(seconds_now() - start < 20);
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	peer_end(&owner);
	parameter("pin_mode", "0");
}
TEST(a_copy_to_a_stalled_region_holds_none) { copy2_holds_none(false, "0"); }
TEST(a_copy_from_a_stalled_region_holds_none) { copy2_holds_none(true, "0"); }
TEST(an_uncached_copy_to_a_stalled_region_holds_none) { copy2_holds_none(false, "2"); }

/* --- validity --- */

/* Bytes that were copied in the current generation equal the memory, also without pinned pages. */
static void generations_move(const char *pin_mode)
{
	char *p = memory(SMALL, HUGE), x[PAGE];
	u64 cookie, gen;

	parameter("pin_mode", pin_mode);
	memset(p, 'a', HUGE);
	cookie = reg(p, HUGE, KCOLL_READ);
	gen = 0;
	CHECK(!sync_region(cookie, &gen));
	CHECK(!copy_gen(cookie, 0, x, PAGE, KCOLL_READ, gen, NULL) && x[0] == 'a');
	CHECK(!munmap(p, HUGE));
	CHECK(mmap(p, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	memset(p, 'b', HUGE);
	CHECK_ERR(copy_gen(cookie, 0, x, PAGE, KCOLL_READ, gen, NULL), ESTALE);
	CHECK_ERR(sync_region(cookie, &gen), ESTALE);
	CHECK(!copy_gen(cookie, 0, x, PAGE, KCOLL_READ, gen, NULL) && x[0] == 'b');
	CHECK(!madvise(p + HUGE / 2, PAGE, MADV_DONTNEED));
	CHECK_ERR(copy_gen(cookie, 0, x, PAGE, KCOLL_READ, gen, NULL), ESTALE);
	gen = 0;
	CHECK(!sync_region(cookie, &gen));
	/* Unmapping memory next to the region changes nothing in it. */
	CHECK(!munmap(p - HUGE / 2, PAGE));
	CHECK(!copy_gen(cookie, 0, x, PAGE, KCOLL_READ, gen, NULL));
	parameter("pin_mode", "0");
}
TEST(every_invalidation_moves_the_generation) { generations_move("0"); }
TEST(every_invalidation_moves_the_generation_of_unpinned_regions) { generations_move("2"); }

/* --- memory --- */

static void become(int uid)
{
	(void)!chmod(KCOLL_DEVICE, 0666);
	CHECK(!setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid));
	prctl(PR_SET_DUMPABLE, 1);
	device_again();
}

/* The value of a line such as "VmRSS:   123 kB". */
static long line_of(const char *path, const char *key)
{
	char line[200];
	long value = -1;
	FILE *f = fopen(path, "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), ": %ld", &value);
	fclose(f);
	CHECK(value >= 0);
	return value;
}

#define LARGEST ((1UL << 39) - HUGE)

/* Regions of unmapped memory cost almost no memory, and at most the allowance of the user. */
TEST(regions_use_memory_for_pinned_windows_only)
{
	char *p = mmap(NULL, LARGEST, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	long before;
	u64 first;
	int i;

	CHECK(p != MAP_FAILED);
	become(1234);
	device();
	before = line_of("/proc/meminfo", "MemAvailable");
	first = reg(p, LARGEST, KCOLL_READ);
	CHECK(first);
	for (i = 1; i < 200; i++)
		CHECK(reg(p, LARGEST, KCOLL_READ));
	printf("# 200 regions of 512 GiB took %ld KiB\n", before - line_of("/proc/meminfo", "MemAvailable"));
	CHECK(before - line_of("/proc/meminfo", "MemAvailable") < 64 << 10);
	CHECK(!munmap(p, LARGEST));
}

static bool child_succeeds(void (*run)(char *p), char *p)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		run(p);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

static void registers_until_refused(char *p)
{
	int n = 0;

	become(1235);
	while (n < 3000 && reg(p, HUGE, KCOLL_READ))
		n++;
	printf("# %d regions in 1 MiB\n", n);
	CHECK_EQ(errno, EDQUOT);
	CHECK(n > 100 && n < 3000);
	if (!fork()) {
		/* Another process is limited, too: it may have no room even for a descriptor. */
		close(dev);
		dev = device_open();
		_exit((dev >= 0 && reg(p, HUGE, KCOLL_READ)) || errno != EDQUOT);
	}
	CHECK(wait(&n) > 0);
	CHECK_EQ(n, 0);
}

/* Ended regions do not count, also if registrations are faster than the grace periods of the kernel. */
static void registers_again_and_again(char *p)
{
	u64 some[3];
	int i, round;

	become(1234);
	for (round = 0; round < 2000; round++) {
		for (i = 0; i < 3; i++)
			CHECK(some[i] = reg(p, HUGE, KCOLL_READ));
		for (i = 0; i < 3; i++)
			CHECK(!unreg(some[i]));
	}
}

TEST(metadata_has_a_limit_for_each_user)
{
	char *p = memory(SMALL, HUGE);

	parameter("max_metadata_mb", "1");
	CHECK(child_succeeds(registers_until_refused, p));
	CHECK(child_succeeds(registers_again_and_again, p));
	parameter("max_metadata_mb", "0");
}

/* --- registering in a loop --- */

enum { CHURN_THREADS = 4, CHURN_RANGES = 128, CHURN_SECONDS = 5 };
static char *churned;

static u64 reg_churned(void)
{
	struct kcoll_range v[CHURN_RANGES];
	int i;

	for (i = 0; i < CHURN_RANGES; i++)
		v[i] = (struct kcoll_range){(u64)churned, PAGE};
	return reg_ranges(v, CHURN_RANGES, KCOLL_READ);
}

static long p_maps_instead(long *a) /* cookie, the mapping of before or 0: the mapping */
{
	if (a[1])
		munmap((void *)a[1], PAGE);
	return p_map((long[4]){a[0], 0, PAGE, PROT_READ});
}

static void *churns(void *peer)
{
	double end = seconds_now() + CHURN_SECONDS;
	struct kcoll_unregister args = {.size = sizeof(args), .flags = KCOLL_NOWAIT};
	long n, at = 0;

	for (n = 0; seconds_now() < end; n++) {
		CHECK(args.cookie = reg_churned());
		if (n % 2) {
			at = peer_call((struct peer *)peer, p_maps_instead, args.cookie, at);
			CHECK(at > 0);
		}
		CHECK(!ioctl(device(), KCOLL_UNREGISTER, &args));
	}
	return (void *)n;
}

static void churn(int report)
{
	struct peer peers[CHURN_THREADS];
	pthread_t threads[CHURN_THREADS];
	int most = 0, i;
	long rounds = 0;
	void *n;

	become(1236);
	close(dev); /* not for peers to inherit: its regions would not end with it */
	dev = -1;
	for (i = 0; i < CHURN_THREADS; i++)
		peers[i] = peer_new();
	while (reg_churned())
		most++;
	CHECK_EQ(errno, EDQUOT);
	CHECK(write(report, &most, sizeof(most)) == sizeof(most));
	device_again(); /* ends them */
	for (i = 0; i < CHURN_THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, churns, &peers[i]));
	for (i = 0; i < CHURN_THREADS; i++) {
		CHECK(!pthread_join(threads[i], &n));
		rounds += (long)n;
	}
	printf("# %ld regions registered, mapped and unregistered\n", rounds);
	CHECK(rounds > 4 * most);
}

static int regions_alive(void)
{
	char line[200];
	int n = -1;
	FILE *f = fopen("/sys/kernel/debug/kcoll/stats", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "regions %d", &n);
	fclose(f);
	CHECK(n >= 0);
	return n;
}

/*
 * A process that registers, has peers map, and unregisters without waiting keeps no more regions alive than the limit
 * of its kernel memory (max_metadata_mb) has room for.
 */
TEST(registering_in_a_loop_keeps_to_the_limit)
{
	int report[2], status, most, peak = 0, now, i;
	pid_t pid;

	/* The count is of all processes: regions of earlier tests may still wait for a grace period. */
	for (i = 0; i < 10000 && regions_alive(); i++)
		usleep(1000);
	parameter("max_metadata_mb", "1");
	churned = memory(SMALL, HUGE);
	CHECK(!pipe2(report, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		churn(report[1]);
		_exit(0);
	}
	close(report[1]);
	CHECK(read(report[0], &most, sizeof(most)) == sizeof(most));
	while (!waitpid(pid, &status, WNOHANG)) {
		now = regions_alive();
		peak = now > peak ? now : peak;
		usleep(1000);
	}
	parameter("max_metadata_mb", "0");
	printf("# 1 MiB holds %d of them; %d were alive at most\n", most, peak);
	CHECK_EQ(status, 0);
	/* Each thread counts one before it is charged. */
	CHECK(peak >= CHURN_THREADS && peak <= most + CHURN_THREADS);
}

TEST(regions_that_are_gone_do_not_count)
{
	char *p = memory(SMALL, HUGE);
	struct peer peer = peer_new();
	int i;

	parameter("max_regions", "8");
	fill(p, HUGE, 1);
	for (i = 0; i < 30; i++) {
		u64 cookie = reg(p, PAGE, KCOLL_READ);

		CHECK(cookie);
		CHECK(peer_call(&peer, p_map, cookie, 0, PAGE, PROT_READ) > 0);
		CHECK(!unreg(cookie));
	}
	parameter("max_regions", "4096");
	peer_end(&peer);
}

/* Where the cookie cannot be handed out, in the structure or where cookie_ptr says, no region stays. */
TEST(a_register_that_cannot_answer_leaves_nothing)
{
	struct kcoll_register *args = memory(SMALL, PAGE), with_pointer;
	char *p = memory(SMALL, HUGE);
	int i;

	parameter("max_regions", "2");
	fill(p, HUGE, 1);
	*args = (struct kcoll_register){.size = sizeof(*args), .flags = KCOLL_READ, .addr = (u64)p, .len = HUGE};
	with_pointer = *args;
	with_pointer.cookie_ptr = (u64)args; /* read-only */
	CHECK(!mprotect(args, PAGE, PROT_READ));
	for (i = 0; i < 10; i++) {
		CHECK_ERR(ioctl(device(), KCOLL_REGISTER, args), EFAULT);
		CHECK_ERR(ioctl(device(), KCOLL_REGISTER, &with_pointer), EFAULT);
	}
	CHECK(reg(p, HUGE, KCOLL_READ) && reg(p, HUGE, KCOLL_READ));
	parameter("max_regions", "4096");
}

/* A region that names a page a thousand times costs an invalidation of that page as much as one that names it once. */
static double change_time(char *p, u32 ranges)
{
	enum { REGIONS = 40, TIMES = 20 };
	struct kcoll_range v[1024];
	u64 cookies[REGIONS];
	double start;
	u32 i;

	for (i = 0; i < ranges; i++)
		v[i] = (struct kcoll_range){(u64)p, PAGE};
	for (i = 0; i < REGIONS; i++)
		CHECK(cookies[i] = reg_ranges(v, ranges, KCOLL_READ));
	start = seconds_now();
	for (i = 0; i < TIMES; i++) {
		CHECK(!mprotect(p, PAGE, PROT_READ));
		CHECK(!mprotect(p, PAGE, PROT_READ | PROT_WRITE));
	}
	start = seconds_now() - start;
	for (i = 0; i < REGIONS; i++)
		CHECK(!unreg(cookies[i]));
	return start / TIMES / 2;
}

TEST(an_invalidation_costs_by_memory_not_by_ranges)
{
	char *p = memory(SMALL, HUGE);
	double one = 1, many = 1, once;
	int i;

	fill(p, HUGE, 1);
	change_time(p, 1);
	/* The least of some: each is short, and the processor may be taken away. */
	for (i = 0; i < 5; i++) {
		once = change_time(p, 1);
		one = once < one ? once : one;
		once = change_time(p, 1024);
		many = once < many ? once : many;
	}
	printf("# mprotect with 40 regions of 1 range %.1f us, of 1024 ranges %.1f us\n", one * 1e6, many * 1e6);
	CHECK(many < 10 * one + 2e-4);
}

TEST(small_reads_populate_their_pages)
{
	enum { WINDOWS = 32 };
	char *p = memory(SMALL, WINDOWS * HUGE), x[8192];
	u64 cookie = reg(p, WINDOWS * HUGE, KCOLL_READ);
	struct peer peer = peer_new();
	long before = line_of("/proc/self/status", "VmRSS");
	int i;

	CHECK(cookie);
	for (i = 0; i < WINDOWS; i++)
		CHECK_EQ(peer_call(&peer, p_read_check, cookie, i * HUGE, sizeof(x), 77, 0), 1); /* zeros */
	printf("# %ld KiB more resident, %ld pages pinned\n", line_of("/proc/self/status", "VmRSS") - before,
	       pinned_pages());
	CHECK_EQ(pinned_pages(), WINDOWS * 2);
	CHECK(line_of("/proc/self/status", "VmRSS") - before <= WINDOWS * 8 + 512);
	peer_end(&peer);
}

/* A page that cannot be pinned does not make copies of its neighbours retry, and is used once it can be pinned. */
static void beside_a_hole(bool mapped)
{
	char *p = memory(SMALL, HUGE), *hole = p + HUGE - PAGE, *x = memory(SMALL, HUGE), *m;
	struct kcoll_stats before, after;
	u64 cookie;
	int i;

	fill(p, HUGE, 1);
	CHECK(mapped ? !mprotect(hole, PAGE, PROT_NONE) : !munmap(hole, PAGE));
	cookie = reg(p, HUGE, KCOLL_READ);
	m = map(cookie, 0, HUGE, PROT_READ);
	CHECK(m != MAP_FAILED);
	CHECK_ERR(copy(cookie, 0, x, HUGE, KCOLL_READ), EFAULT);
	CHECK(filled(x, HUGE - PAGE, 1, 0));
	CHECK(!stats_get(0, &before));
	for (i = 0; i < 100; i++)
		CHECK(!copy(cookie, i * 4 * PAGE, x, 16384, KCOLL_READ) && filled(x, 16384, 1, i * 4 * PAGE));
	CHECK(!stats_get(0, &after));
	printf("# %llu pins, %llu copies uncached\n", after.pins - before.pins,
	       after.copies_uncached - before.copies_uncached);
	CHECK(after.pins - before.pins <= 4 && after.copies_uncached - before.copies_uncached <= 4);
	CHECK(filled(m, HUGE - PAGE, 1, 0));
	/* Mapped again: used at once, without an invalidation. */
	if (mapped)
		CHECK(!mprotect(hole, PAGE, PROT_READ | PROT_WRITE));
	else
		CHECK(mmap(hole, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == hole);
	fill(p, HUGE, 2);
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ) && filled(x, HUGE, 2, 0));
	CHECK(filled(m, HUGE, 2, 0));
}
TEST(copies_beside_an_unmapped_page) { beside_a_hole(false); }
TEST(copies_beside_a_protected_page) { beside_a_hole(true); }

/* --- limits --- */

enum { WINDOWS = 12, TOUCHES = 2 * WINDOWS };

/* Seconds in which a peer reads two pages of each window of a mapping. */
static double touch_time(struct peer *peer, long at)
{
	double start = seconds_now();
	size_t i;

	for (i = 0; i < WINDOWS * HUGE; i += HUGE / 2)
		CHECK_EQ(peer_call(peer, p_peek, at + i, PAGE, 1, i), 0);
	return seconds_now() - start;
}

/* Seconds in which each window is pinned and its pages given back, once: what a mapping cannot do without. */
static double pin_time(char *p)
{
	char *x = memory(SMALL, HUGE);
	double start = seconds_now();
	u64 cookie;
	size_t i;

	for (i = 0; i < WINDOWS; i++) {
		cookie = reg(p + i * HUGE, HUGE, KCOLL_READ | KCOLL_EAGER);
		CHECK(cookie && !copy(cookie, 0, x, PAGE, KCOLL_READ) && !unreg(cookie));
	}
	return seconds_now() - start;
}

/* Seconds of the pauses after which a fault that finds no room is content with a few pages. */
static double pause_time(void)
{
	double start = seconds_now();
	int i;

	for (i = 0; i < 5; i++)
		usleep(50000);
	return seconds_now() - start;
}

/*
 * A mapping works with any limit on locked memory; pages beyond it do not stay pinned. If the limit has room for a
 * window, reading all takes about as long as it takes to pin all; if it has none, a few pauses for each page.
 */
static void mapped_beyond(size_t limit, bool quiet)
{
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, rlimit = {limit, RLIM_INFINITY};
	size_t len = WINDOWS * HUGE, i;
	char *p = memory(SMALL, len);
	double once, unlimited, limited, again, bound, end;
	struct peer peer;
	u64 cookie;
	long at;

	CHECK(!setrlimit(RLIMIT_MEMLOCK, &none));
	become(1234);
	peer = peer_new();
	fill(p, len, 1);
	once = pin_time(p);
	cookie = reg(p, len, KCOLL_READ | KCOLL_WRITE);
	CHECK(cookie);
	at = peer_call(&peer, quiet ? p_map_quiet : p_map, cookie, 0, len, PROT_READ | PROT_WRITE);
	CHECK(at > 0);
	unlimited = touch_time(&peer, at);
	CHECK_EQ(pinned_pages() * PAGE, len);
	CHECK(!unreg(cookie));

	CHECK(!setrlimit(RLIMIT_MEMLOCK, &rlimit));
	cookie = reg(p, len, KCOLL_READ | KCOLL_WRITE);
	at = peer_call(&peer, quiet ? p_map_quiet : p_map, cookie, 0, len, PROT_READ | PROT_WRITE);
	CHECK(at > 0);
	limited = touch_time(&peer, at);
	bound = limit ? 3 * once : 2 * TOUCHES * pause_time() + 3 * once;
	for (i = 0; i < 2 && limited > bound; i++) {
		again = touch_time(&peer, at);
		limited = again < limited ? again : limited;
	}
	printf("# %d MiB touched in %.2f s, with no limit in %.3f s; pinned and unpinned in %.3f s\n", WINDOWS * 2,
	       limited, unlimited, once);
	CHECK(limited < bound);
	for (i = 0; i < len; i += HUGE)
		CHECK_EQ(peer_call(&peer, p_poke, at + i + PAGE, PAGE, 100 + i), 0);
	for (i = 0; i < len; i += HUGE)
		CHECK(filled(p + i + PAGE, PAGE, 100 + i, 0));
	for (end = seconds_now() + 60; pinned_pages() * PAGE > limit + 64 * PAGE; usleep(1000))
		CHECK(seconds_now() < end);
	CHECK(!unreg(cookie));
	CHECK_EQ(pinned_pages(), 0);
	peer_end(&peer);
}
TEST(mappings_work_beyond_the_limit) { mapped_beyond(8 << 20, false); }
TEST(quiet_mappings_work_beyond_the_limit) { mapped_beyond(8 << 20, true); }
TEST(mappings_work_without_an_allowance) { mapped_beyond(0, false); }

/* --- statistics --- */

TEST(statistics_have_nothing_of_other_users)
{
	char *p = memory(SMALL, HUGE), x[8192];
	struct kcoll_stats before, after;
	int found[2], status, i;
	char byte;
	pid_t pid;

	CHECK(!pipe(found));
	pid = fork();
	if (!pid) {
		become(2001);
		CHECK(read(found[0], &byte, 1) == 1);
		fill(p, HUGE, 1);
		u64 cookie = reg(p, HUGE, KCOLL_READ);
		for (i = 0; i < 100; i++)
			CHECK(!copy(cookie, 0, x, sizeof(x), KCOLL_READ));
		CHECK(!unreg(cookie));
		_exit(0);
	}
	become(2000);
	CHECK(!stats_get(KCOLL_STATS_ALL, &before));
	CHECK(write(found[1], "x", 1) == 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	CHECK(!memcmp(&before, &after, sizeof(before)));
}

TEST(statistics_cost_depends_on_open_regions_of_the_user)
{
	enum { MANY = 3000, TIMES = 20 };
	struct rlimit files = {MANY + 100, MANY + 100};
	struct kcoll_stats s;
	int ready[2], i;
	double start;
	char byte;
	pid_t pid;

	CHECK(!pipe(ready) && !setrlimit(RLIMIT_NOFILE, &files));
	pid = fork();
	if (!pid) {
		become(2001);
		for (i = 0; i < MANY; i++)
			CHECK(device_new(KCOLL_JOIN_USER, 0) >= 0);
		CHECK(write(ready[1], "x", 1) == 1);
		for (;;)
			stats_get(KCOLL_STATS_ALL, &s);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	become(2000);
	start = seconds_now();
	for (i = 0; i < TIMES; i++)
		CHECK(!stats_get(KCOLL_STATS_ALL, &s));
	start = (seconds_now() - start) / TIMES;
	kill(pid, SIGKILL);
	printf("# STATS_ALL took %.1f us\n", start * 1e6);
	CHECK(start < 0.02);
}

/* --- joining --- */

TEST(joining_does_not_depend_on_how_many_domains_there_are)
{
	enum { MANY = 6000 };
	struct rlimit files = {MANY + 100, MANY + 100};
	struct kcoll_join args = {.size = sizeof(args)};
	double few = 0, many = 0, start;
	int i, fd;

	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
	parameter("max_metadata_mb", "256");
	for (i = 0; i < MANY; i++) {
		u64 key = 77 + i;

		fd = open(KCOLL_DEVICE, O_RDWR);
		CHECK(fd >= 0);
		memcpy(args.key, &key, sizeof(key));
		start = seconds_now();
		CHECK(!ioctl(fd, KCOLL_JOIN, &args));
		few += i < 500 ? seconds_now() - start : 0;
		many += i >= MANY - 500 ? seconds_now() - start : 0;
	}
	printf("# %.1f us each of the first 500, %.1f us of the last\n", few / 500 * 1e6, many / 500 * 1e6);
	CHECK(many < 5 * few + 0.05);
	parameter("max_metadata_mb", "0");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
