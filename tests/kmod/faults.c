// SPDX-License-Identifier: BSD-3-Clause
/* Faults of a mapping that meet in the same 2 MiB: single pages there, and all of it as one. */
#include <pthread.h>
#include <sys/klog.h>

#include "kcoll_test.h"

enum { ROUNDS = 20, ZAPPED = 64, MAPPINGS = 400 };

static char *region_memory, *fresh;
static u64 cookie;

/* What the kernel says where a page and 2 MiB, or the other way round, are inserted in one place. */
static int collisions(void)
{
	static const char *const texts[] = {"VM_FAULT_OOM leaked", "insert_pfn_pmd"};
	static char log[1 << 20];
	int n = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, sizeof(log) - 1), count = 0;
	unsigned int i;

	CHECK(n >= 0);
	log[n] = '\0';
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *at = log;

		while ((at = strstr(at, texts[i]))) {
			count++;
			at++;
		}
	}
	return count;
}

static void *store(void *at)
{
	*(volatile char *)at = 1;
	return NULL;
}

static void touch(pthread_t *thread, size_t offset)
{
	CHECK(!pthread_create(thread, NULL, store, fresh + offset));
	usleep(5000);
}

/* Sets of many windows, in many mappings, are dropped together: until that is done, faults of the region wait. */
static void hold_faults(void)
{
	char x[2 * PAGE];
	int i;

	for (i = 1; i <= ZAPPED; i++)
		CHECK(!copy(cookie, i * HUGE, x, sizeof(x), KCOLL_READ));
	CHECK(!mprotect(region_memory + HUGE, ZAPPED * HUGE, PROT_READ));
	CHECK(!mprotect(region_memory + HUGE, ZAPPED * HUGE, PROT_READ | PROT_WRITE));
}

/* huge_map decides which way a fault goes before it waits. */
static void faults_meet(bool pages_first)
{
	pthread_t threads[2];

	fresh = map(cookie, 0, HUGE, PROT_READ | PROT_WRITE);
	CHECK(fresh != MAP_FAILED);
	CHECK((u64)fresh % HUGE == 0);
	hold_faults();
	parameter("huge_map", pages_first ? "N" : "Y");
	touch(&threads[0], 0);
	parameter("huge_map", pages_first ? "Y" : "N");
	touch(&threads[1], 5 * PAGE);
	parameter("huge_map", "Y");
	CHECK(!pthread_join(threads[0], NULL) && !pthread_join(threads[1], NULL));
	CHECK_EQ(region_memory[0], 1);
	CHECK_EQ(region_memory[5 * PAGE], 1);
	region_memory[0] = region_memory[5 * PAGE] = 0;
	munmap(fresh, HUGE);
}

TEST(pages_and_2_mib_do_not_meet_in_one_place)
{
	struct kcoll_info info = {.size = sizeof(info)};
	size_t len = (ZAPPED + 1) * HUGE;
	char *x = memory(SMALL, HUGE);
	int i, before;

	CHECK(!ioctl(device(), KCOLL_INFO, &info));
	if (!(info.features & KCOLL_FEATURE_HUGE_MAP))
		skip("this kernel maps single pages only");
	region_memory = memory(SMALL, len);
	CHECK(!madvise(region_memory, HUGE, MADV_HUGEPAGE));
	memset(region_memory, 0, HUGE);
	cookie = reg(region_memory, len, KCOLL_READ | KCOLL_WRITE);
	CHECK(cookie);
	for (i = 0; i < MAPPINGS; i++)
		CHECK(map(cookie, HUGE, len - HUGE, PROT_READ) != MAP_FAILED);
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ));
	before = collisions();
	for (i = 0; i < ROUNDS; i++)
		faults_meet(i % 2);
	CHECK_EQ(collisions(), before);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
