// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "kcoll_test.h"

/* --- tests --- */

static struct test tests[256];
static int n_tests;
u64 test_seed;

void test_add(const char *name, void (*run)(void), int seconds)
{
	tests[n_tests++] = (struct test){name, run, seconds};
}

void fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("# %s:%d: ", file, line);
	vprintf(format, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	_exit(1);
}

void skip(const char *why)
{
	printf("# skipped: %s\n", why);
	fflush(stdout);
	_exit(77);
}

double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static u64 random_state;

u64 test_random(void)
{
	u64 z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static int run_one(const struct test *test)
{
	pid_t pid = fork();
	int status = 0;
	double end;

	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		random_state = test_seed;
		test->run();
		fflush(stdout);
		_exit(0);
	}
	setpgid(pid, pid);
	for (end = seconds_now() + test->seconds * (getenv("KCOLL_SLOW") ? 4 : 1);;) {
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			break;
		if (seconds_now() > end) {
			printf("# still running after %d s\n", test->seconds);
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			status = 1 << 8;
			break;
		}
		usleep(2000);
	}
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int test_main(int argc, char **argv)
{
	const char *only = argc > 1 && strcmp(argv[1], "-") ? argv[1] : NULL;
	int i, number = 0, failures = 0;

	test_seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (u64)time(NULL) * 1000003 + getpid();
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n# seed %llu\n", (unsigned long long)test_seed);
	for (i = 0; i < n_tests; i++) {
		double start = seconds_now();
		int result;

		if (only && !strstr(tests[i].name, only))
			continue;
		result = run_one(&tests[i]);
		failures += result && result != 77;
		printf("%s %d - %s%s # %.1f s\n", result && result != 77 ? "not ok" : "ok", ++number, tests[i].name,
		       result == 77 ? " # SKIP" : "", seconds_now() - start);
	}
	printf("1..%d\n", number);
	return failures || !number;
}

/* --- the device --- */

int dev = -1;

int device(void)
{
	if (dev < 0) {
		dev = open(KCOLL_DEVICE, O_RDWR | O_CLOEXEC);
		if (dev < 0)
			fail(__FILE__, __LINE__, "%s cannot be opened (errno %d)", KCOLL_DEVICE, errno);
	}
	return dev;
}

void device_again(void)
{
	if (dev >= 0)
		close(dev);
	dev = -1;
	device();
}

static u64 reg_args(u64 addr, u64 len, u32 flags)
{
	struct kcoll_register args = {.size = sizeof(args), .flags = flags, .addr = addr, .len = len};

	return ioctl(device(), KCOLL_REGISTER, &args) ? 0 : args.cookie;
}

u64 reg(void *addr, size_t len, u32 flags) { return reg_args((u64)addr, len, flags); }

u64 reg_ranges(const struct kcoll_range *ranges, u32 n, u32 flags)
{
	return reg_args((u64)ranges, n, flags | KCOLL_VECTOR);
}

int unreg(u64 cookie)
{
	struct kcoll_unregister args = {.size = sizeof(args), .cookie = cookie};

	return ioctl(device(), KCOLL_UNREGISTER, &args);
}

int copy_gen(u64 cookie, u64 offset, void *addr, size_t len, u32 flags, u64 gen, u64 *done)
{
	struct kcoll_copy args = {.size = sizeof(args),
				  .flags = flags,
				  .cookie = cookie,
				  .offset = offset,
				  .addr = (u64)addr,
				  .len = len,
				  .gen = gen};
	int ret = ioctl(device(), KCOLL_COPY, &args);

	if (done)
		*done = args.done;
	return ret;
}

int copy(u64 cookie, u64 offset, void *addr, size_t len, u32 flags)
{
	return copy_gen(cookie, offset, addr, len, flags, 0, NULL);
}

int copyv(u64 cookie, u64 offset, struct iovec *iov, int n, u32 flags)
{
	return copy(cookie, offset, iov, n, flags | KCOLL_VECTOR);
}

int copy2(u64 src, u64 src_offset, u64 dst, u64 dst_offset, u64 len)
{
	struct kcoll_copy2 args = {.size = sizeof(args),
				   .src_cookie = src,
				   .src_offset = src_offset,
				   .dst_cookie = dst,
				   .dst_offset = dst_offset,
				   .len = len};

	return ioctl(device(), KCOLL_COPY2, &args);
}

int sync_region(u64 cookie, u64 *gen)
{
	struct kcoll_sync args = {.size = sizeof(args), .cookie = cookie, .gen = gen ? *gen : 0};
	int ret = ioctl(device(), KCOLL_SYNC, &args);

	if (gen)
		*gen = args.gen;
	return ret;
}

int attach(u64 cookie, struct kcoll_attach *out)
{
	*out = (struct kcoll_attach){.size = sizeof(*out), .cookie = cookie};
	return ioctl(device(), KCOLL_ATTACH, out);
}

int stats_get(u32 flags, struct kcoll_stats *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->flags = flags;
	return ioctl(device(), KCOLL_STATS, out);
}

int join(u64 key)
{
	struct kcoll_join args = {.size = sizeof(args)};

	memcpy(args.key + 3, &key, sizeof(key));
	return ioctl(device(), KCOLL_JOIN, &args);
}

void *map(u64 cookie, size_t offset, size_t len, int prot)
{
	struct kcoll_attach at;

	if (attach(cookie, &at))
		return MAP_FAILED;
	return mmap(NULL, len, prot, MAP_SHARED, device(), at.map_offset + offset);
}

volatile u64 *map_generation(u64 cookie)
{
	struct kcoll_attach at;
	u64 *page;

	if (attach(cookie, &at))
		return NULL;
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, device(), at.gen_offset);
	return page == MAP_FAILED ? NULL : page + at.gen_slot;
}

long pinned_pages(void)
{
	struct kcoll_info info = {.size = sizeof(info)};

	CHECK(!ioctl(device(), KCOLL_INFO, &info));
	return info.pinned_pages;
}

/* --- files of the kernel --- */

void file_set(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, text, strlen(text)) != (long)strlen(text))
		fail(__FILE__, __LINE__, "'%s' cannot be written to %s (errno %d)", text, path, errno);
	close(fd);
}

void parameter(const char *name, const char *value)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/module/kcoll/parameters/%s", name);
	file_set(path, value);
}

int file_count(const char *path, const char *text)
{
	static char buffer[1 << 20];
	int fd = open(path, O_RDONLY), count = 0;
	long n, total = 0;
	char *at;

	if (fd < 0)
		fail(__FILE__, __LINE__, "%s cannot be read (errno %d)", path, errno);
	while ((n = read(fd, buffer + total, sizeof(buffer) - 1 - total)) > 0)
		total += n;
	close(fd);
	buffer[total] = 0;
	for (at = buffer; (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void trace_set(const char *events, const char *on)
{
	char path[100];

	snprintf(path, sizeof(path), TRACING "events/kcoll/%s", events);
	file_set(path, on);
}

void trace_begin(const char *events)
{
	/* Recording names would patch the scheduler's code, which the emulator's processors do not always notice in
	 * time. */
	file_set(TRACING "options/record-cmd", "0");
	file_set(TRACE, "");
	trace_set(events, "1");
}

void trace_end(const char *events) { trace_set(events, "0"); }

/* --- memory --- */

const char *kind_name[KINDS] = {"4K", "thp", "hugetlb", "shmem", "private-file"};
static int last_fd = -1;

int memory_fd(void) { return last_fd; }

void *memory(enum kind kind, size_t len)
{
	size_t rounded = (len + HUGE - 1) & ~(HUGE - 1);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *space, *p;

	space = mmap(NULL, rounded + HUGE, PROT_NONE, flags | MAP_NORESERVE, -1, 0);
	CHECK(space != MAP_FAILED);
	p = (char *)(((u64)space + HUGE - 1) & ~(HUGE - 1));
	switch (kind) {
	case SMALL:
	case THP:
		CHECK(mmap(p, rounded, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == p);
		CHECK(!madvise(p, rounded, kind == THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
		break;
	case HUGETLB:
		if (mmap(p, rounded, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_HUGETLB, -1, 0) != p)
			skip("no huge pages are reserved");
		break;
	case SHMEM:
	case COW:
		last_fd = memfd_create("test", MFD_CLOEXEC);
		CHECK(last_fd >= 0 && !ftruncate(last_fd, rounded));
		CHECK(mmap(p, rounded, PROT_READ | PROT_WRITE, (kind == COW ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED,
			   last_fd, 0) == p);
		break;
	default: abort();
	}
	return p;
}

static uint8_t pattern(u64 seed, u64 i)
{
	u64 z = (seed + i / 8) * 0x9e3779b97f4a7c15;

	return (uint8_t)((z ^ (z >> 29)) >> (i % 8 * 8));
}

void fill(void *addr, size_t len, u64 seed)
{
	uint8_t *p = addr;
	size_t i = 0;

	for (; i + 8 <= len; i += 8) {
		u64 z = (seed + i / 8) * 0x9e3779b97f4a7c15;

		z ^= z >> 29;
		memcpy(p + i, &z, 8);
	}
	for (; i < len; i++)
		p[i] = pattern(seed, i);
}

bool filled(const void *addr, size_t len, u64 seed, size_t offset)
{
	const uint8_t *p = addr;
	size_t i = 0;

	while (i < len) {
		if ((offset + i) % 8 == 0 && i + 8 <= len) {
			u64 z = (seed + (offset + i) / 8) * 0x9e3779b97f4a7c15, have;

			z ^= z >> 29;
			memcpy(&have, p + i, 8);
			if (have != z)
				return false;
			i += 8;
		} else {
			if (p[i] != pattern(seed, offset + i))
				return false;
			i++;
		}
	}
	return true;
}

/* --- peers --- */

struct call {
	peer_fn fn;
	long a[8];
};

struct peer peer_new(void)
{
	int to[2], from[2];
	struct peer peer;

	CHECK(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	fflush(stdout);
	peer.pid = fork();
	CHECK(peer.pid >= 0);
	if (!peer.pid) {
		struct call call;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		dev = -1; /* the parent's is of no use here */
		while (read(to[0], &call, sizeof(call)) == sizeof(call)) {
			long result = call.fn(call.a);

			if (write(from[1], &result, sizeof(result)) != sizeof(result))
				break;
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	peer.to = to[1];
	peer.from = from[0];
	return peer;
}

void peer_start_(struct peer *peer, peer_fn fn, const long *a)
{
	struct call call = {.fn = fn};

	memcpy(call.a, a, sizeof(call.a));
	CHECK(write(peer->to, &call, sizeof(call)) == sizeof(call));
}

long peer_result(struct peer *peer)
{
	long result = 0;

	CHECK(read(peer->from, &result, sizeof(result)) == sizeof(result));
	return result;
}

long peer_call_(struct peer *peer, peer_fn fn, const long *a)
{
	peer_start_(peer, fn, a);
	return peer_result(peer);
}

void peer_end(struct peer *peer)
{
	close(peer->to);
	close(peer->from);
	kill(peer->pid, SIGKILL); /* later peers hold copies of the pipe's end: it would not see it closed */
	waitpid(peer->pid, NULL, 0);
}

long p_read_check(long *a)
{
	char *buffer = malloc(a[2]);
	long ret = 0;

	memset(buffer, 0x5a, a[2]);
	if (copy(a[0], a[1], buffer, a[2], KCOLL_READ))
		ret = -errno;
	else if (!filled(buffer, a[2], a[3], a[4]))
		ret = 1;
	free(buffer);
	return ret;
}

long p_write(long *a)
{
	char *buffer = malloc(a[2]);
	long ret;

	fill(buffer, a[2], a[3]);
	ret = copy(a[0], a[1], buffer, a[2], KCOLL_WRITE) ? -errno : 0;
	free(buffer);
	return ret;
}

long p_map(long *a)
{
	void *p = map(a[0], a[1], a[2], a[3]);

	return p == MAP_FAILED ? -errno : (long)p;
}

static sigjmp_buf landing;
static void land(int signal) { siglongjmp(landing, signal); }

long p_peek(long *a)
{
	struct sigaction act = {.sa_handler = land, .sa_flags = SA_NODEFER};

	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	if (sigsetjmp(landing, 1))
		return 2;
	return !filled((void *)a[0], a[1], a[2], a[3]);
}

long p_poke(long *a)
{
	struct sigaction act = {.sa_handler = land, .sa_flags = SA_NODEFER};

	sigaction(SIGBUS, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	if (sigsetjmp(landing, 1))
		return 2;
	fill((void *)a[0], a[1], a[2]);
	return 0;
}

long p_sync(long *a)
{
	u64 gen = a[1];

	return sync_region(a[0], &gen) ? -errno : 0;
}

long p_attach_gen(long *a)
{
	struct kcoll_attach at;

	return attach(a[0], &at) ? -errno : (long)at.gen;
}
