// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kcoll_test.h"

/* --- tests --- */

enum { SECONDS = 600 }; /* for one test, on a loaded machine */

struct test {
	const char *name;
	void (*run)(void);
};
static struct test tests[256];
static int n_tests;
u64 test_seed;

void test_add(const char *name, void (*run)(void)) { tests[n_tests++] = (struct test){name, run}; }

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
	for (end = seconds_now() + SECONDS;;) {
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			break;
		if (seconds_now() > end) {
			printf("# still running after %d s\n", SECONDS);
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

/* Saves the module's parameters before a test, so that a failing test does not affect the next. */
#define PARAMETERS "/sys/module/kcoll/parameters"
struct saved_parameter {
	char path[sizeof(PARAMETERS) + 256];
	char value[64];
};
static struct saved_parameter saved[64];

static bool parameter_read(const char *path, char *value, size_t size)
{
	int fd = open(path, O_RDONLY);
	long n = fd < 0 ? -1 : read(fd, value, size - 1);

	if (fd >= 0)
		close(fd);
	value[n > 0 ? n : 0] = 0;
	return n > 0;
}

static int parameters_save(void)
{
	DIR *dir = opendir(PARAMETERS);
	struct dirent *entry;
	int n = 0;

	while (dir && n < 64 && (entry = readdir(dir))) {
		snprintf(saved[n].path, sizeof(saved[n].path), PARAMETERS "/%s", entry->d_name);
		n += entry->d_name[0] != '.' && parameter_read(saved[n].path, saved[n].value, sizeof(saved[n].value));
	}
	if (dir)
		closedir(dir);
	return n;
}

static void parameters_restore(int n)
{
	char now[64];
	int i;

	for (i = 0; i < n; i++)
		if (parameter_read(saved[i].path, now, sizeof(now)) && strcmp(now, saved[i].value))
			file_set(saved[i].path, saved[i].value);
}

int test_main(int argc, char **argv)
{
	const char *only = argc > 1 && strcmp(argv[1], "-") ? argv[1] : NULL;
	int i, number = 0, failures = 0;

	if (only && !strcmp(only, "--list")) {
		for (i = 0; i < n_tests; i++)
			puts(tests[i].name);
		return 0;
	}
	test_seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (u64)time(NULL) * 1000003 + getpid();
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n# seed %llu\n", (unsigned long long)test_seed);
	for (i = 0; i < n_tests; i++) {
		double start = seconds_now();
		int result, nsaved;

		if (only && !strstr(tests[i].name, only))
			continue;
		nsaved = parameters_save();
		result = run_one(&tests[i]);
		parameters_restore(nsaved);
		failures += result && result != 77;
		printf("%s %d - %s%s # %.1f s\n", result && result != 77 ? "not ok" : "ok", ++number, tests[i].name,
		       result == 77 ? " # SKIP" : "", seconds_now() - start);
	}
	printf("1..%d\n", number);
	return failures || !number;
}

/* --- the device --- */

int dev = -1;

int device_open(void) { return open(KCOLL_DEVICE, O_RDWR | O_CLOEXEC); }

int device_new(u32 join_flags, u64 key)
{
	int error;

	dev = device_open();
	if (dev < 0 || !join_this(join_flags, key))
		return dev;
	error = errno;
	close(dev);
	dev = -1;
	errno = error;
	return -1;
}

int device(void)
{
	if (dev < 0 && device_new(KCOLL_JOIN_USER, 0) < 0)
		fail(__FILE__, __LINE__, "%s cannot be opened or joined (errno %d)", KCOLL_DEVICE, errno);
	return dev;
}

static void device_close(void)
{
	if (dev >= 0)
		close(dev);
	dev = -1;
}

void device_again(void)
{
	device_close();
	device();
}

void device_alone(void)
{
	device_close();
	dev = device_open();
	if (dev < 0)
		fail(__FILE__, __LINE__, "%s cannot be opened (errno %d)", KCOLL_DEVICE, errno);
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

int join_this(u32 flags, u64 key)
{
	struct kcoll_join args = {.size = sizeof(args), .flags = flags};

	memcpy(args.key + 3, &key, sizeof(key));
	return ioctl(dev, KCOLL_JOIN, &args);
}

int join(u64 key)
{
	device_close();
	return device_new(0, key) < 0 ? -1 : 0;
}

void *map(u64 cookie, size_t offset, size_t len, int prot)
{
	struct kcoll_attach at;

	if (attach(cookie, &at))
		return MAP_FAILED;
	return mmap(NULL, len, prot, MAP_SHARED, device(), at.map_offset + offset);
}

void *map_quiet(u64 cookie, size_t offset, size_t len, int prot)
{
	struct kcoll_attach at = {.size = sizeof(at), .flags = KCOLL_QUIET, .cookie = cookie};

	if (ioctl(device(), KCOLL_ATTACH, &at))
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

#define GROUPS "/mnt/groups"

const char *in_group(const char *name, const char *file)
{
	static char path[200];

	snprintf(path, sizeof(path), GROUPS "/%s/%s", name, file);
	return path;
}

void group(const char *name, const char *limit)
{
	const char *controllers = GROUPS "/cgroup.subtree_control";
	int fd;

	mkdir(GROUPS, 0755);
	if (access(controllers, F_OK) && mount("none", GROUPS, "cgroup2", 0, NULL))
		skip("no cgroups here");
	fd = open(controllers, O_WRONLY);
	if (fd < 0 || write(fd, "+memory", 7) != 7)
		skip("no memory cgroups here");
	close(fd);
	CHECK(!mkdir(in_group(name, ""), 0755) || errno == EEXIST);
	file_set(in_group(name, "memory.max"), limit);
}

void group_join(const char *name) { file_set(in_group(name, "cgroup.procs"), "0"); }

long group_memory(const char *name)
{
	FILE *file = fopen(in_group(name, "memory.current"), "r");
	long bytes = -1;

	CHECK(file && fscanf(file, "%ld", &bytes) == 1);
	fclose(file);
	return bytes;
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
