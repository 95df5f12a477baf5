/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the module's tests: TAP output, one process per test, the commands as functions, peers, memory of every
 * kind. A test runs in a process of its own that is killed after its time; what a test forks dies with it.
 */
#ifndef KCOLL_TEST_H
#define KCOLL_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "uapi/kcoll.h"

#ifndef PAGE /* arm64 kernels with larger pages define it */
#define PAGE 4096UL
#endif
#define HUGE (2UL << 20)

typedef uint64_t u64;
typedef uint32_t u32;

/* --- tests --- */

void test_add(const char *name, void (*run)(void));

#define TEST(name)                                                                           \
	static void name(void);                                                              \
	__attribute__((constructor)) static void add_##name(void) { test_add(#name, name); } \
	static void name(void)

void fail(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
void skip(const char *why) __attribute__((noreturn));
#define CHECK(condition)                                                              \
	do {                                                                          \
		if (!(condition))                                                     \
			fail(__FILE__, __LINE__, "%s (errno %d)", #condition, errno); \
	} while (0)
#define CHECK_EQ(a, b)                                                                                           \
	do {                                                                                                     \
		long long a_ = (long long)(a), b_ = (long long)(b);                                              \
		if (a_ != b_)                                                                                    \
			fail(__FILE__, __LINE__, "%s is %lld, not %s = %lld (errno %d)", #a, a_, #b, b_, errno); \
	} while (0)
/* The call fails with exactly this errno. */
#define CHECK_ERR(call, error)                                                                                \
	do {                                                                                                  \
		long r_ = (long)(call);                                                                       \
		int e_ = errno;                                                                               \
		if (r_ != -1 || e_ != (error))                                                                \
			fail(__FILE__, __LINE__, "%s returned %ld, errno %d, not %s", #call, r_, e_, #error); \
	} while (0)

int test_main(int argc, char **argv);
extern u64 test_seed; /* from the command line or the clock; printed */
u64 test_random(void);
double seconds_now(void);

/* --- the device --- */

extern int dev; /* this process's descriptor; device() opens it, in the domain of the user */
int device(void);
void device_again(void);
int device_new(u32 join_flags, u64 key); /* another, that joins; -1 and errno if it is refused */
int device_open(void);			 /* a descriptor that joins nothing; -1 */
void device_alone(void);		 /* another, that joins nothing */

u64 reg(void *addr, size_t len, u32 flags); /* the cookie; 0 and errno */
u64 reg_ranges(const struct kcoll_range *ranges, u32 n, u32 flags);
int unreg(u64 cookie);
int copy(u64 cookie, u64 offset, void *addr, size_t len, u32 flags);
int copy_gen(u64 cookie, u64 offset, void *addr, size_t len, u32 flags, u64 gen, u64 *done);
int copyv(u64 cookie, u64 offset, struct iovec *iov, int n, u32 flags);
int copy2(u64 src, u64 src_offset, u64 dst, u64 dst_offset, u64 len);
int sync_region(u64 cookie, u64 *gen);
int attach(u64 cookie, struct kcoll_attach *out);
void *map_quiet(u64 cookie, size_t offset, size_t len, int prot);
int stats_get(u32 flags, struct kcoll_stats *out);
int join(u64 key); /* with a new descriptor */
int join_this(u32 flags, u64 key);
void *map(u64 cookie, size_t offset, size_t len, int prot);
volatile u64 *map_generation(u64 cookie); /* its slot */
long pinned_pages(void);

/* --- files of the kernel --- */

void parameter(const char *name, const char *value); /* of the module */
void file_set(const char *path, const char *text);
int file_count(const char *path, const char *text); /* how often text stands in it */

/* Memory cgroups. A test that needs them is skipped where there are none. */
void group(const char *name, const char *limit); /* makes one; "max": without limit */
void group_join(const char *name);		 /* this process, and what it forks from now on */
long group_memory(const char *name);		 /* bytes that are charged to it */
const char *in_group(const char *name, const char *file);

#define TRACING "/sys/kernel/tracing/"
#define TRACE TRACING "trace"
void trace_begin(const char *events); /* of the module: "enable", or "NAME/enable"; TRACE is empty then */
void trace_end(const char *events);

/* --- memory --- */

enum kind { SMALL, THP, HUGETLB, SHMEM, COW, KINDS };
extern const char *kind_name[KINDS];
void *memory(enum kind kind, size_t len);      /* aligned to 2 MiB; for SHMEM and COW of a memfd */
void needs_copies_at_fork(enum kind kind);     /* skips the test where the kernel may make none */
int memory_fd(void);			       /* the descriptor behind the last SHMEM or COW */
void *memory_missing(size_t len, int *faults); /* its pages do not come in; accesses are reported by this userfaultfd */
int missing_asked(int faults, const void *area,
		  int ms); /* the page that is waited for, by number; -1: none in that time */
void missing_give(int faults, void *area, int page, u64 word); /* one that begins with word */
void fill(void *addr, size_t len, u64 seed);
bool filled(const void *addr, size_t len, u64 seed, size_t offset); /* holds what fill() put at offset */

/* --- peers: processes that run functions of this program on request --- */

struct peer {
	pid_t pid;
	int to, from;
};
typedef long (*peer_fn)(long *a);
struct peer peer_new(void);
long peer_call_(struct peer *peer, peer_fn fn, const long *a); /* the result, or -errno by convention */
void peer_start_(struct peer *peer, peer_fn fn, const long *a);
long peer_result(struct peer *peer);
void peer_end(struct peer *peer);
#define peer_call(peer, fn, ...) peer_call_(peer, fn, (const long[8]){__VA_ARGS__})
#define peer_start(peer, fn, ...) peer_start_(peer, fn, (const long[8]){__VA_ARGS__})

/* Functions for peers. */
long p_read_check(long *a); /* cookie, offset, len, seed, base offset of the pattern: 0, -errno, 1 = wrong bytes */
long p_write(long *a);	    /* cookie, offset, len, seed */
long p_map(long *a);	    /* cookie, offset, len, prot: the address */
long p_map_quiet(long *a);  /* the same, of a mapping that raises no signal */
long p_peek(long *a);	    /* address, len, seed, offset: 0, 1 = wrong, 2 = fault */
long p_poke(long *a);	    /* address, len, seed */
long p_sync(long *a);	    /* cookie, gen */
long p_attach_gen(long *a); /* cookie: the generation */

#endif
