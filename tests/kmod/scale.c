// SPDX-License-Identifier: BSD-3-Clause
/* What calls of the kernel cost an owner that has as many regions, or ranges in them, as it may have. */
#include "kcoll_test.h"

/* The most ranges that a process may have (max_ranges), of memory that nothing was ever mapped in. */
enum { MANY_REGIONS = 64, MANY_EACH = 1024, MANY_RANGES = MANY_REGIONS * MANY_EACH };

static char *ranges_new(int prot)
{
	size_t len = 2 * PAGE * MANY_RANGES;
	char *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED && !madvise(p, len, MADV_NOHUGEPAGE));
	return p;
}

/* Each range is a page, beside one of no range: none are merged. */
static void reg_many(char *p)
{
	struct kcoll_range v[MANY_EACH];
	int i, k;

	for (i = 0; i < MANY_REGIONS; i++) {
		for (k = 0; k < MANY_EACH; k++)
			v[k] = (struct kcoll_range){(u64)p + 2 * PAGE * (i * MANY_EACH + k), PAGE};
		CHECK(reg_ranges(v, MANY_EACH, KCOLL_READ));
	}
}

static double munmap_time(char *p)
{
	double start = seconds_now();

	CHECK(!munmap(p, 2 * PAGE * MANY_RANGES));
	return seconds_now() - start;
}

static double close_time(void)
{
	double start = seconds_now();

	CHECK(!close(dev));
	start = seconds_now() - start;
	dev = -1;
	device();
	return start;
}

struct range_times {
	double registered, unmapped, closed;
	double closed_after;		   /* close() after munmap() */
	double bare_unmapped, bare_closed; /* with no region */
	double pages;			   /* munmap() of as many pages */
};

static struct range_times range_times(void)
{
	struct range_times t;
	char *p;
	int i;

	device_again();
	t.bare_closed = close_time();
	t.bare_unmapped = munmap_time(ranges_new(PROT_NONE));
	p = ranges_new(PROT_READ | PROT_WRITE);
	for (i = 0; i < MANY_RANGES; i++)
		p[2 * PAGE * i] = 1;
	t.pages = munmap_time(p);

	p = ranges_new(PROT_NONE);
	t.registered = seconds_now();
	reg_many(p);
	t.registered = seconds_now() - t.registered;
	t.unmapped = munmap_time(p);
	t.closed_after = close_time();
	p = ranges_new(PROT_NONE);
	reg_many(p);
	t.closed = close_time();
	CHECK(!munmap(p, 2 * PAGE * MANY_RANGES));
	return t;
}

/* munmap() costs about as much as of as many pages, at most, and close() less than REGISTER. */
TEST(the_most_ranges_end_as_fast_as_pages)
{
	enum { ROUNDS = 3 };
	struct range_times t, best;
	int i;

	parameter("max_metadata_mb", "64");
	best = range_times();
	for (i = 1; i < ROUNDS; i++) {
		t = range_times();
		/* They are all doubles: the least of each. */
		for (size_t k = 0; k < sizeof(t) / sizeof(double); k++)
			if (((double *)&t)[k] < ((double *)&best)[k])
				((double *)&best)[k] = ((double *)&t)[k];
	}
	printf("# %d ranges: munmap %.2f ms, with no region %.3f ms, of as many pages %.2f ms\n", MANY_RANGES,
	       best.unmapped * 1e3, best.bare_unmapped * 1e3, best.pages * 1e3);
	printf("# %d ranges: REGISTER %.2f ms, close %.2f ms, after munmap %.2f ms, with no region %.3f ms\n",
	       MANY_RANGES, best.registered * 1e3, best.closed * 1e3, best.closed_after * 1e3, best.bare_closed * 1e3);
	CHECK(best.unmapped < 1.5 * best.pages);
	CHECK(best.closed < best.registered && best.closed_after < best.registered);
	parameter("max_metadata_mb", "0");
}

/* mprotect of one page, once: the least. */
static double protect_time(char *p)
{
	double start, took, least = 1e9;
	int i;

	for (i = 0; i < 50; i++) {
		start = seconds_now();
		CHECK(!mprotect(p, PAGE, i % 2 ? PROT_READ | PROT_WRITE : PROT_READ));
		took = seconds_now() - start;
		least = took < least ? took : least;
	}
	return least;
}

/* The most regions that a process may have, all of one page: each costs its mprotect() a small part of the call. */
TEST(a_region_costs_mprotect_a_part_of_the_call)
{
	enum { MOST = 4096 /* max_regions */ };
	char *p = memory(SMALL, HUGE);
	double none, many;
	int i;

	parameter("max_metadata_mb", "64");
	fill(p, HUGE, 1);
	none = protect_time(p);
	for (i = 0; i < MOST; i++)
		CHECK(reg(p, PAGE, KCOLL_READ));
	CHECK(!reg(p, PAGE, KCOLL_READ) && errno == EDQUOT);
	many = protect_time(p);
	printf("# mprotect of a page with %d regions %.1f us, with none %.1f us: %.0f ns a region\n", MOST, many * 1e6,
	       none * 1e6, (many - none) / MOST * 1e9);
	parameter("max_metadata_mb", "0");
	CHECK((many - none) / MOST < none / 4);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
