// SPDX-License-Identifier: BSD-3-Clause
/*
 * What processes may not do to each other: take what others need, stall them, learn about them, or make a valid access
 * of theirs fail.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
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

/* A peer whose own buffer never comes in: its fault handler does not answer. */
static pid_t stalled_peer(u64 cookie, u32 direction, int *told)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int ready[2], faults;
	pid_t pid;

	CHECK(!pipe(ready));
	pid = fork();
	if (!pid) {
		char *missing, x[100];

		device_again();
		missing = memory(SMALL, HUGE);
		faults = syscall(SYS_userfaultfd, O_CLOEXEC);
		CHECK(faults >= 0 && !ioctl(faults, UFFDIO_API, &api));
		range.range = (struct uffdio_range){(u64)missing, HUGE};
		CHECK(!ioctl(faults, UFFDIO_REGISTER, &range));
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
	*told = ready[0];
	return pid;
}

static void owner_is_not_held(u32 direction, const char *pin_mode)
{
	char *p = memory(SMALL, HUGE), byte;
	int told, status;
	double start;
	u64 cookie;
	pid_t pid;

	parameter("pin_mode", pin_mode);
	fill(p, HUGE, 1);
	cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE);
	pid = stalled_peer(cookie, direction, &told);
	CHECK(read(told, &byte, 1) == 1);
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

/* --- validity --- */

/* What was copied in a generation that still holds is what is there, also where nothing was pinned. */
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
	/* Beside the region: nothing of it has changed. */
	CHECK(!munmap(p - HUGE / 2, PAGE));
	CHECK(!copy_gen(cookie, 0, x, PAGE, KCOLL_READ, gen, NULL));
	parameter("pin_mode", "0");
}
TEST(every_invalidation_moves_the_generation) { generations_move("0"); }
TEST(every_invalidation_moves_the_generation_of_what_is_never_pinned) { generations_move("2"); }

/* --- joining --- */

TEST(joining_does_not_depend_on_how_many_domains_there_are)
{
	enum { MANY = 6000 };
	struct rlimit files = {MANY + 100, MANY + 100};
	struct kcoll_join args = {.size = sizeof(args)};
	double few = 0, many = 0, start;
	int i, fd;

	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
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
}

int main(int argc, char **argv) { return test_main(argc, argv); }
