// SPDX-License-Identifier: BSD-3-Clause
/* Memory of every kind, and peers that work on it. */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/syscall.h>

#include "kcoll_test.h"

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

/*
 * Linux 6.12 may leave out private huge pages at a fork that are smaller than what one entry of the table above the
 * last maps: it takes what an earlier use of the child's new page table left there for the number of processes that
 * share it. The child finds zeros, without this module, too.
 */
void needs_copies_at_fork(enum kind kind)
{
	unsigned long page = sysconf(_SC_PAGESIZE);

	if (kind == HUGETLB && HUGE < page / 8 * page)
		skip("with pages of this size the kernel may lose a private huge page of 2 MiB at a fork");
}

void *memory_missing(size_t len, int *faults)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	char *p = memory(SMALL, len);

	*faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	CHECK(*faults >= 0 && !ioctl(*faults, UFFDIO_API, &api));
	range.range = (struct uffdio_range){(u64)p, len};
	CHECK(!ioctl(*faults, UFFDIO_REGISTER, &range));
	return p;
}

int missing_asked(int faults, const void *area, int ms)
{
	struct pollfd ready = {faults, POLLIN, 0};
	struct uffd_msg message;

	CHECK(!fcntl(faults, F_SETFL, O_NONBLOCK)); /* or poll() fails */
	if (poll(&ready, 1, ms) != 1)
		return -1;
	CHECK_EQ(read(faults, &message, sizeof(message)), sizeof(message));
	CHECK_EQ(message.event, UFFD_EVENT_PAGEFAULT);
	return ((const char *)message.arg.pagefault.address - (const char *)area) / PAGE;
}

void missing_give(int faults, void *area, int page, u64 word)
{
	static u64 contents[PAGE / 8] __attribute__((aligned(PAGE)));
	struct uffdio_copy give = {.dst = (u64)area + page * PAGE, .src = (u64)contents, .len = PAGE};

	contents[0] = word;
	CHECK(!ioctl(faults, UFFDIO_COPY, &give));
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
		dev = -1; /* the parent's descriptor cannot be used here */
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

long p_map_quiet(long *a)
{
	void *p = map_quiet(a[0], a[1], a[2], a[3]);

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
