// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every command, both directions, all kinds of memory, and arguments that must be refused.
 * Why this file is long: one short test after the other, command by command.
 */
#include "kcoll_test.h"

enum { PAGES = HUGE / PAGE }; /* of 2 MiB */

TEST(info_has_version_and_features)
{
	struct kcoll_info info = {.size = sizeof(info)};

	CHECK(!ioctl(device(), KCOLL_INFO, &info));
	CHECK_EQ(info.version, KCOLL_VERSION);
	CHECK(info.features & KCOLL_FEATURE_BATCH);
	CHECK(info.max_regions > 0 && info.max_ranges >= 64 && info.max_region_bytes > (1UL << 36));
	CHECK_EQ(info.pinned_pages, 0);
}

TEST(structures_may_grow_but_sizes_must_fit)
{
	struct {
		struct kcoll_info info;
		char more[16];
	} big = {.info.size = sizeof(big)};

	CHECK(!ioctl(device(), KCOLL_INFO, &big));
	big.more[3] = 1;
	CHECK_ERR(ioctl(dev, KCOLL_INFO, &big), E2BIG);
	big.more[3] = 0;
	big.info.flags = 1;
	CHECK_ERR(ioctl(dev, KCOLL_INFO, &big), EINVAL);
	big.info.flags = 0;
	big.info.size = 4;
	CHECK_ERR(ioctl(dev, KCOLL_INFO, &big), EINVAL);
	big.info.size = 1 << 20;
	CHECK_ERR(ioctl(dev, KCOLL_INFO, &big), E2BIG);
	CHECK_ERR(ioctl(dev, KCOLL_INFO, (void *)8), EFAULT);
	CHECK_ERR(ioctl(dev, _IOWR(KCOLL_MAGIC, 77, struct kcoll_info), &big), ENOTTY);
	CHECK_ERR(ioctl(dev, 0x5401, &big), ENOTTY);
}

TEST(register_refuses_nonsense)
{
	char *p = memory(SMALL, HUGE);
	struct kcoll_register args = {.size = sizeof(args), .flags = KCOLL_READ, .addr = (u64)p, .len = PAGE};
	struct kcoll_range ranges[2] = {{(u64)p, PAGE}, {(u64)p, 0}};

	CHECK_ERR(reg(p, 0, KCOLL_READ) ? 0 : -1, EINVAL);
	CHECK_ERR(reg(p, PAGE, 0) ? 0 : -1, EINVAL);
	CHECK_ERR(reg(p, PAGE, KCOLL_READ | 1 << 20) ? 0 : -1, EINVAL);
	CHECK_ERR(reg(p, -PAGE, KCOLL_READ) ? 0 : -1, EINVAL);		      /* wraps */
	CHECK_ERR(reg(p, ~0UL, KCOLL_READ) ? 0 : -1, EINVAL);		      /* rounds to nothing */
	CHECK_ERR(reg((void *)-PAGE, PAGE - 1, KCOLL_READ) ? 0 : -1, EINVAL); /* the kernel's */
	CHECK_ERR(reg(p, 1UL << 46, KCOLL_READ) ? 0 : -1, EINVAL);
	CHECK_ERR(reg_ranges(ranges, 2, KCOLL_READ) ? 0 : -1, EINVAL);
	CHECK_ERR(reg_ranges(ranges, 0, KCOLL_READ) ? 0 : -1, EINVAL);
	CHECK_ERR(reg_ranges(ranges, 100000, KCOLL_READ) ? 0 : -1, EINVAL);
	CHECK_ERR(reg_ranges((void *)8, 2, KCOLL_READ) ? 0 : -1, EFAULT);
	args.reserved = 1;
	CHECK_ERR(ioctl(dev, KCOLL_REGISTER, &args), EINVAL);
	args.reserved = 0;
	args.cookie_ptr = 8;
	CHECK_ERR(ioctl(dev, KCOLL_REGISTER, &args), EFAULT);
	/* Eager registration of unmapped memory fails; lazy registration fails later. */
	munmap(p, HUGE);
	CHECK_ERR(reg(p, PAGE, KCOLL_READ | KCOLL_EAGER) ? 0 : -1, EFAULT);
	u64 cookie = reg(p, PAGE, KCOLL_READ);
	char byte;
	CHECK(cookie);
	CHECK_ERR(copy(cookie, 0, &byte, 1, KCOLL_READ), EFAULT);
	CHECK(!unreg(cookie));
	CHECK_ERR(unreg(cookie), ENOENT);
}

/* One region of each kind, every special place and length, both directions, cached and not. */
static void transfer(enum kind kind)
{
	static const size_t places[] = {0, 1, 7, PAGE - 1, PAGE, 5 * PAGE + 100, HUGE - 3, HUGE, HUGE + PAGE};
	static const size_t lengths[] = {0, 1, 8, 100, PAGE, PAGE + 1, 3 * PAGE - 1, 65536, 300000, HUGE, HUGE + 9};
	size_t len = 3 * HUGE, i, j;
	char *p = memory(kind, len);
	struct peer peer = peer_new();
	u64 cookie;

	fill(p, len, 1);
	cookie = reg(p, len, KCOLL_READ | KCOLL_WRITE);
	CHECK(cookie);
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		for (j = 0; j < sizeof(lengths) / sizeof(*lengths); j++) {
			size_t at = places[i], n = lengths[j];

			if (at + n > len)
				continue;
			CHECK_EQ(peer_call(&peer, p_read_check, cookie, at, n, 1, at), 0);
			CHECK_EQ(peer_call(&peer, p_write, cookie, at, n, 1000 + i * 100 + j), 0);
			CHECK(filled(p + at, n, 1000 + i * 100 + j, 0));
			/* No other byte may change. */
			CHECK(!at || filled(p + at - 1, 1, 1, at - 1));
			CHECK(at + n == len || filled(p + at + n, 1, 1, at + n));
			fill(p, len, 1);
		}
	}
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, len - 4, 5, 1, 0), -ERANGE);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, -1L, 1, 1, 0), -ERANGE);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, len, 0, 1, 0), 0);
	CHECK(!unreg(cookie));
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, 8, 1, 0), -ENOENT);
	peer_end(&peer);
}
TEST(transfer_small_pages) { transfer(SMALL); }
TEST(transfer_thp) { transfer(THP); }
TEST(transfer_hugetlb) { transfer(HUGETLB); }
TEST(transfer_shmem) { transfer(SHMEM); }
TEST(transfer_private_file_pages) { transfer(COW); }

TEST(unaligned_regions)
{
	size_t shift;
	char *p = memory(SMALL, 2 * HUGE);
	struct peer peer = peer_new();

	for (shift = 1; shift < HUGE; shift = shift * 3 + 5) {
		size_t len = HUGE + 77;
		u64 cookie;

		fill(p, 2 * HUGE, 2);
		cookie = reg(p + shift, len - shift / 2, KCOLL_READ | KCOLL_WRITE);
		CHECK(cookie);
		CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, len - shift / 2, 2, shift), 0);
		CHECK_EQ(peer_call(&peer, p_write, cookie, 10, 8000, 3), 0);
		CHECK(filled(p + shift + 10, 8000, 3, 0));
		CHECK(filled(p + shift, 10, 2, shift));
		CHECK(!unreg(cookie));
	}
	peer_end(&peer);
}

static long p_vector(long *a)
{
	static char x[100000], y[3], z[70000];
	struct iovec iov[4] = {{x, sizeof(x)}, {y, sizeof(y)}, {NULL, 0}, {z, sizeof(z)}};

	if (copyv(a[0], a[1], iov, 4, KCOLL_READ))
		return -errno;
	if (!filled(x, sizeof(x), a[2], a[1]) || !filled(y, sizeof(y), a[2], a[1] + sizeof(x)) ||
	    !filled(z, sizeof(z), a[2], a[1] + sizeof(x) + sizeof(y)))
		return 1;
	return copyv(a[0], a[1], iov, 4, KCOLL_WRITE) ? -errno : 0;
}

TEST(vectors_on_both_sides)
{
	char *p = memory(SMALL, 2 * HUGE), *whole = memory(SMALL, 2 * HUGE);
	struct kcoll_range ranges[5];
	struct peer peer = peer_new();
	size_t at = 3, total = 0;
	u64 cookie;
	int i;

	fill(whole, 2 * HUGE, 9);
	for (i = 0; i < 5; i++) {
		size_t len = 17 + i * 41000;

		ranges[i] = (struct kcoll_range){(u64)p + at, len};
		memcpy(p + at, whole + total, len);
		total += len;
		at += len + 5000;
	}
	cookie = reg_ranges(ranges, 5, KCOLL_READ | KCOLL_WRITE);
	CHECK(cookie);
	CHECK_EQ(peer_call(&peer, p_vector, cookie, 11, 9), 0);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 0, total, 9, 0), 0);
	CHECK_EQ(peer_call(&peer, p_read_check, cookie, 1, total, 9, 0), -ERANGE);
	peer_end(&peer);
}

TEST(partial_progress_is_reported)
{
	char *p = memory(SMALL, HUGE), *q = memory(SMALL, HUGE);
	u64 cookie, done = 7;

	fill(p, HUGE, 4);
	cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE);
	munmap(q + 100000 / PAGE * PAGE, PAGE);
	CHECK_ERR(copy_gen(cookie, 0, q, HUGE, KCOLL_READ, 0, &done), EFAULT);
	CHECK(done <= 100000 && filled(q, done, 4, 0));
	CHECK_ERR(copy_gen(cookie, 0, q, HUGE, KCOLL_WRITE, 0, &done), EFAULT);
	CHECK(done <= 100000);
	/* The owner's side: a hole in the region. */
	munmap(p + 50 * PAGE, PAGE);
	q = memory(SMALL, HUGE);
	CHECK_ERR(copy_gen(cookie, 0, q, HUGE, KCOLL_READ, 0, &done), EFAULT);
	CHECK(done <= 50 * PAGE && filled(q, done, 4, 0));
	CHECK(!copy(cookie, 51 * PAGE, q, 10 * PAGE, KCOLL_READ));
	CHECK(filled(q, 10 * PAGE, 4, 51 * PAGE));
}

TEST(copy2_between_two_owners)
{
	struct peer a = peer_new(), b = peer_new();
	char *p = memory(THP, 2 * HUGE), *q = memory(SMALL, 2 * HUGE);
	u64 src, dst;

	fill(p, 2 * HUGE, 5);
	memset(q, 0, 2 * HUGE);
	src = reg(p + 100, HUGE, KCOLL_READ);
	dst = reg(q + 999, HUGE, KCOLL_WRITE);
	CHECK(src && dst);
	CHECK(!copy2(src, 5, dst, 70, 1500000));
	CHECK(filled(q + 999 + 70, 1500000, 5, 105));
	CHECK(q[999 + 69] == 0 && q[999 + 70 + 1500000] == 0);
	CHECK_ERR(copy2(dst, 0, src, 0, 1), EACCES);
	CHECK_ERR(copy2(src, HUGE, dst, 0, 1), ERANGE);
	CHECK_ERR(copy2(src, 0, dst, HUGE - 1, 2), ERANGE);
	CHECK_ERR(copy2(src, 0, dst ^ 1, 0, 1), ENOENT);
	CHECK(!copy2(src, 0, dst, 0, 0));
	/* All of it again, without pinned pages. */
	parameter("pin_mode", "2");
	u64 cold = reg(p + 100, HUGE, KCOLL_READ), sink = reg(q + 999, HUGE, KCOLL_WRITE);
	memset(q, 0, 2 * HUGE);
	CHECK(!copy2(cold, 5, sink, 70, 1500000));
	CHECK(filled(q + 999 + 70, 1500000, 5, 105));
	CHECK(q[999 + 69] == 0 && q[999 + 70 + 1500000] == 0);
	parameter("pin_mode", "0");
	peer_end(&a);
	peer_end(&b);
}

TEST(directions_are_enforced)
{
	char *p = memory(SMALL, HUGE), x[64];
	u64 r = reg(p, PAGE, KCOLL_READ), w = reg(p, PAGE, KCOLL_WRITE);

	CHECK(!copy(r, 0, x, 64, KCOLL_READ));
	CHECK_ERR(copy(r, 0, x, 64, KCOLL_WRITE), EACCES);
	CHECK(!copy(w, 0, x, 64, KCOLL_WRITE));
	CHECK_ERR(copy(w, 0, x, 64, KCOLL_READ), EACCES);
	CHECK_ERR(copy(r, 0, x, 64, KCOLL_READ | KCOLL_WRITE), EINVAL);
	CHECK_ERR(copy(r, 0, x, 64, 0), EINVAL);
	CHECK_ERR(copy(r, 0, x, 64, KCOLL_READ | KCOLL_EAGER), EINVAL);
	CHECK_ERR(copy(r, 0, (void *)(1UL << 63), 64, KCOLL_READ), EFAULT);
	CHECK_ERR(map(w, 0, PAGE, PROT_READ), EACCES);
	/* A read-only mapping of the owner cannot be written through the module. */
	CHECK(!mprotect(p, PAGE, PROT_READ));
	CHECK_ERR(copy(w, 0, x, 64, KCOLL_WRITE), EFAULT);
	CHECK(!copy(r, 0, x, 64, KCOLL_READ));
	CHECK(!mprotect(p, PAGE, PROT_NONE));
	CHECK_ERR(copy(r, 0, x, 64, KCOLL_READ), EFAULT);
}

TEST(batches)
{
	char *p = memory(SMALL, HUGE), x[3][100];
	u64 cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE);
	struct kcoll_op ops[4] = {0};
	struct kcoll_batch batch = {.size = sizeof(batch), .ops = (u64)ops, .count = 4};
	int i;

	fill(p, HUGE, 6);
	for (i = 0; i < 3; i++) {
		ops[i].op = KCOLL_OP_COPY;
		ops[i].copy = (struct kcoll_copy){.size = sizeof(ops[i].copy),
						  .flags = KCOLL_READ,
						  .cookie = cookie,
						  .offset = i * 5000,
						  .addr = (u64)x[i],
						  .len = 100};
	}
	ops[3].op = KCOLL_OP_COPY2;
	ops[3].copy2 = (struct kcoll_copy2){.size = sizeof(ops[3].copy2),
					    .src_cookie = cookie,
					    .dst_cookie = cookie,
					    .src_offset = 0,
					    .dst_offset = 800000,
					    .len = 70000};
	CHECK(!ioctl(dev, KCOLL_BATCH, &batch));
	CHECK_EQ(batch.done, 4);
	for (i = 0; i < 3; i++)
		CHECK(filled(x[i], 100, 6, i * 5000) && ops[i].copy.done == 100 && !ops[i].result);
	CHECK(filled(p + 800000, 70000, 6, 0) && ops[3].copy2.done == 70000);

	ops[1].copy.cookie ^= 1;
	CHECK_ERR(ioctl(dev, KCOLL_BATCH, &batch), ENOENT);
	CHECK_EQ(batch.done, 2);
	CHECK_EQ(ops[1].result, -ENOENT);
	batch.flags = KCOLL_CONTINUE;
	CHECK_ERR(ioctl(dev, KCOLL_BATCH, &batch), ENOENT);
	CHECK_EQ(batch.done, 4);
	ops[2].op = 99;
	CHECK_ERR(ioctl(dev, KCOLL_BATCH, &batch), ENOENT);
	CHECK_EQ(ops[2].result, -EINVAL);
	batch.count = 1 << 20;
	CHECK_ERR(ioctl(dev, KCOLL_BATCH, &batch), EINVAL);
	batch.count = 4;
	batch.ops = 8;
	CHECK_ERR(ioctl(dev, KCOLL_BATCH, &batch), EFAULT);
}

/* One peer pins, all others find its pages. */
static long p_many(long *a)
{
	static char buffer[HUGE];
	int i;

	for (i = 0; i < a[1]; i++)
		if (copy(a[0], 0, buffer, sizeof(buffer), KCOLL_READ))
			return -errno;
	return !filled(buffer, sizeof(buffer), 7, 0);
}

TEST(pages_are_pinned_once)
{
	char *p = memory(SMALL, HUGE);
	struct kcoll_stats before, after;
	struct peer peers[8];
	u64 cookie;
	int i;

	fill(p, HUGE, 7);
	cookie = reg(p, HUGE, KCOLL_READ);
	CHECK(!stats_get(KCOLL_STATS_ALL, &before));
	for (i = 0; i < 8; i++)
		peers[i] = peer_new();
	for (i = 0; i < 8; i++)
		peer_start(&peers[i], p_many, cookie, 20);
	for (i = 0; i < 8; i++)
		CHECK_EQ(peer_result(&peers[i]), 0);
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	CHECK_EQ(after.pins - before.pins, 1);
	CHECK_EQ(after.pin_pages - before.pin_pages, PAGES);
	CHECK_EQ(after.pages_uncached - before.pages_uncached, 0);
	CHECK_EQ(after.copies - before.copies, 160);
	CHECK_EQ(after.bytes_read - before.bytes_read, 160 * HUGE);
	CHECK_EQ(pinned_pages(), PAGES);
	for (i = 0; i < 8; i++)
		peer_end(&peers[i]);
}

TEST(huge_pages_are_one_extent)
{
	/* A transparent huge page has 2 MiB where a page has 4 KiB. */
	char *p = memory(PAGE == 4096 ? THP : HUGETLB, HUGE), *h = memory(HUGETLB, HUGE), byte;
	struct kcoll_stats s;

	memset(p, 1, HUGE);
	memset(h, 1, HUGE);
	u64 c = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER), d = reg(h, HUGE, KCOLL_READ | KCOLL_EAGER);
	CHECK(c && d);
	CHECK(!copy(c, 0, &byte, 1, KCOLL_READ));
	CHECK(!stats_get(0, &s));
	CHECK_EQ(s.pin_pages, 2 * PAGES);
	CHECK_EQ(s.pin_extents, 2);
}

TEST(small_copies_do_not_pin_at_first)
{
	char *p = memory(SMALL, HUGE), x[64];
	struct kcoll_stats s;
	u64 cookie;
	int i;

	memset(p, 3, HUGE);
	cookie = reg(p, HUGE, KCOLL_READ);
	for (i = 0; i < 8; i++)
		CHECK(!copy(cookie, i * 1000, x, 64, KCOLL_READ) && x[5] == 3);
	CHECK(!stats_get(0, &s));
	CHECK_EQ(s.pins, 0);
	CHECK_EQ(s.copies_uncached, 8);
	CHECK_EQ(s.bytes_uncached, 8 * 64);
	CHECK_EQ(pinned_pages(), 0);
	CHECK(!copy(cookie, 0, x, 64, KCOLL_READ));
	CHECK_EQ(pinned_pages(), 1);
}

static void wait_pinned(long pages)
{
	double end = seconds_now() + 60;

	while (pinned_pages() != pages && seconds_now() < end)
		usleep(1000);
	CHECK_EQ(pinned_pages(), pages);
}

/* The pages of the first access; more of them when more are accessed; then the whole window. */
TEST(pins_grow_with_reuse)
{
	enum { TWO = 2 * PAGE };
	const u64 middle = PAGES / 5 * PAGE, behind = PAGES * 3 / 5 * PAGE;
	char *p = memory(SMALL, 2 * HUGE), x[TWO];
	u64 cookie;

	fill(p, 2 * HUGE, 3);
	cookie = reg(p, 2 * HUGE, KCOLL_READ);
	CHECK(!copy(cookie, middle, x, TWO, KCOLL_READ) && filled(x, TWO, 3, middle));
	CHECK_EQ(pinned_pages(), 2);
	CHECK(!copy(cookie, middle + 1, x, TWO - 100, KCOLL_READ));
	CHECK_EQ(pinned_pages(), 2);
	CHECK(!copy(cookie, behind, x, TWO, KCOLL_READ) && filled(x, TWO, 3, behind));
	wait_pinned((256 << 10) / PAGE);
	CHECK(!copy(cookie, 5 * PAGE, x, TWO, KCOLL_READ) && filled(x, TWO, 3, 5 * PAGE));
	wait_pinned(PAGES);
	/* The other window has its own history. */
	CHECK(!copy(cookie, HUGE + 7, x, TWO, KCOLL_READ) && filled(x, TWO, 3, HUGE + 7));
	CHECK_EQ(pinned_pages(), PAGES + 3);
	CHECK(!unreg(cookie));
	CHECK_EQ(pinned_pages(), 0);
}

TEST(statistics_measure_time_on_request)
{
	char *p = memory(SMALL, HUGE), *x = memory(SMALL, HUGE);
	struct kcoll_stats s;
	u64 cookie = reg(p, HUGE, KCOLL_READ);

	memset(p, 1, HUGE);
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ));
	CHECK(!stats_get(KCOLL_STATS_TIME, &s));
	CHECK_EQ(s.timed, 0);
	CHECK(s.pin_ns > 0 && s.conc_pages[0] == PAGES && s.conc_ns[0] >= s.pin_ns);
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ));
	CHECK(!stats_get(KCOLL_STATS_NOTIME, &s));
	CHECK_EQ(s.timed, 1);
	CHECK_EQ(s.timed_bytes, HUGE);
	CHECK(s.total_ns >= s.copy_ns && s.copy_ns > 0 && s.wait_ns == 0);
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ));
	CHECK(!stats_get(0, &s));
	CHECK_EQ(s.timed, 1);
	CHECK_ERR(stats_get(64, &s), EINVAL);
}

/* --- mappings --- */

static void mapped(enum kind kind)
{
	size_t len = 2 * HUGE;
	char *p = memory(kind, len);
	struct peer peer = peer_new();
	long ro, rw;
	u64 cookie;

	fill(p, len, 8);
	cookie = reg(p, len, KCOLL_READ | KCOLL_WRITE);
	ro = peer_call(&peer, p_map, cookie, 0, len, PROT_READ);
	rw = peer_call(&peer, p_map, cookie, PAGE, len - PAGE, PROT_READ | PROT_WRITE);
	CHECK(ro > 0 && rw > 0);
	CHECK_EQ(peer_call(&peer, p_peek, ro, len, 8, 0), 0);
	CHECK_EQ(peer_call(&peer, p_poke, rw + 5, 1000000, 9), 0);
	CHECK(filled(p + PAGE + 5, 1000000, 9, 0));
	CHECK_EQ(peer_call(&peer, p_peek, ro + PAGE + 5, 1000000, 9, 0), 0);
	CHECK_EQ(peer_call(&peer, p_poke, ro, 8, 9), 2);
	fill(p, len, 10);
	CHECK_EQ(peer_call(&peer, p_peek, ro, len, 10, 0), 0);
	CHECK(!unreg(cookie));
	/* The region has ended, and a fault after that pins no page. */
	CHECK_EQ(peer_call(&peer, p_peek, ro, 8, 10, 0), 2);
	CHECK_EQ(pinned_pages(), 0);
	peer_end(&peer);
}
TEST(map_small_pages) { mapped(SMALL); }
TEST(map_thp) { mapped(THP); }
TEST(map_hugetlb) { mapped(HUGETLB); }
TEST(map_shmem) { mapped(SHMEM); }

TEST(map_uses_huge_pages_where_the_kernel_can)
{
	struct kcoll_info info = {.size = sizeof(info)};
	struct kcoll_stats before, after;
	char *p = memory(THP, 4 * HUGE);
	struct peer peer = peer_new();
	u64 cookie;
	long at;

	CHECK(!ioctl(device(), KCOLL_INFO, &info));
	if (!(info.features & KCOLL_FEATURE_HUGE_MAP))
		skip("this kernel cannot map huge pages of a driver");
	fill(p, 4 * HUGE, 8);
	cookie = reg(p + 3 * PAGE, 4 * HUGE - 3 * PAGE, KCOLL_READ | KCOLL_EAGER);
	at = peer_call(&peer, p_map, cookie, 0, 4 * HUGE - 3 * PAGE, PROT_READ);
	CHECK(at > 0);
	CHECK_EQ((at ^ (long)(p + 3 * PAGE)) & (HUGE - 1), 0);
	CHECK(!stats_get(KCOLL_STATS_ALL, &before));
	CHECK_EQ(peer_call(&peer, p_peek, at, 4 * HUGE - 3 * PAGE, 8, 3 * PAGE), 0);
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	/* 3 huge pages, and the first 2 MiB by 64 pages at a time. */
	CHECK(after.faults - before.faults <= 3 + 8);
	peer_end(&peer);
}

TEST(mapping_refuses_what_it_must)
{
	char *p = memory(SMALL, 2 * HUGE);
	u64 ro = reg(p, HUGE, KCOLL_READ), odd = reg(p + 8, HUGE, KCOLL_READ);
	struct kcoll_attach at;
	char *m;

	memset(p, 1, HUGE);
	CHECK(!attach(odd, &at));
	CHECK_EQ(at.map_offset, 0);
	CHECK(!attach(ro, &at));
	CHECK_EQ(at.len, HUGE);
	CHECK_EQ(at.direction, KCOLL_READ);
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, dev, at.map_offset), EACCES);
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, dev, at.map_offset), EPERM);
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, dev, at.map_offset), EINVAL);
	CHECK_ERR(mmap(NULL, HUGE + PAGE, PROT_READ, MAP_SHARED, dev, at.map_offset), EINVAL);
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dev, at.map_offset + HUGE), EINVAL);
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, dev, at.gen_offset), EACCES);
	CHECK_ERR(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, dev, at.gen_offset), EINVAL);
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dev, 0), EACCES);
	m = mmap(NULL, HUGE, PROT_READ, MAP_SHARED, dev, at.map_offset);
	CHECK(m != MAP_FAILED && m[0] == 1);
	CHECK_ERR(mprotect(m, PAGE, PROT_READ | PROT_WRITE), EACCES);
	CHECK_ERR(mprotect(m, PAGE, PROT_READ | PROT_EXEC), EACCES);
	CHECK_ERR(mremap(m, HUGE, 2 * HUGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0, EFAULT);
	/* What may only be written has a generation to look at. */
	CHECK(!attach(reg(p, HUGE, KCOLL_WRITE), &at));
	CHECK_EQ(at.map_offset, 0);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, dev, at.gen_offset) != MAP_FAILED);
	/* Another descriptor of ours that has not attached it. */
	CHECK(!attach(ro, &at));
	dev = -1;
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, device(), at.map_offset), EACCES);
	CHECK_EQ(m[PAGE], 1);
}

TEST(mappings_move_split_and_close)
{
	char *p = memory(SMALL, 2 * HUGE), *m;
	u64 cookie = reg(p, 2 * HUGE, KCOLL_READ | KCOLL_WRITE);

	fill(p, 2 * HUGE, 12);
	m = map(cookie, 0, 2 * HUGE, PROT_READ | PROT_WRITE);
	CHECK(m != MAP_FAILED && filled(m, HUGE, 12, 0));
	CHECK(!munmap(m + 100 * PAGE, 10 * PAGE));
	m = mremap(m, 100 * PAGE, 100 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, memory(SMALL, HUGE));
	CHECK(m != MAP_FAILED && filled(m, 100 * PAGE, 12, 0));
	CHECK_ERR(madvise(m, 50 * PAGE, MADV_DONTNEED), EINVAL); /* as of any device memory */
	fill(m, 100 * PAGE, 13);
	CHECK(filled(p, 100 * PAGE, 13, 0));
}

/* get_user_pages() on a mapping fails, so does CMA: cleanly. */
TEST(cma_on_mapped_memory_fails_cleanly)
{
	char *p = memory(SMALL, HUGE), *m, x[100];
	struct iovec local = {x, 100}, remote;
	u64 cookie = reg(p, HUGE, KCOLL_READ), other;

	memset(p, 1, HUGE);
	m = map(cookie, 0, HUGE, PROT_READ);
	CHECK(m != MAP_FAILED && m[0] == 1);
	remote = (struct iovec){m, 100};
	CHECK_ERR(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), EFAULT);
	/* It cannot be registered usefully, either. */
	other = reg(m, PAGE, KCOLL_READ);
	CHECK(other);
	CHECK_ERR(copy(other, 0, x, 100, KCOLL_READ), EOPNOTSUPP);
	/* But it may be the caller's side of a copy. */
	CHECK(!copy(cookie, 0, x, 100, KCOLL_READ));
	u64 into = reg(p + PAGE, PAGE, KCOLL_WRITE);
	CHECK(!copy(into, 0, m + 7, 100, KCOLL_WRITE));
}

TEST(mapping_is_not_inherited)
{
	char *p = memory(SMALL, HUGE), *m;
	u64 cookie = reg(p, HUGE, KCOLL_READ);
	unsigned char residency;
	int status;

	m = map(cookie, 0, PAGE, PROT_READ);
	CHECK(m != MAP_FAILED);
	if (!fork())
		_exit(mincore(m, PAGE, &residency) == -1 && errno == ENOMEM ? 0 : 1);
	wait(&status);
	CHECK_EQ(status, 0);
}

TEST(faults_that_cannot_be_served_are_sigbus)
{
	char *p = memory(SMALL, 2 * HUGE);
	struct peer peer = peer_new();
	u64 cookie = reg(p, 2 * HUGE, KCOLL_READ);
	long at;

	memset(p, 1, 2 * HUGE);
	at = peer_call(&peer, p_map, cookie, 0, 2 * HUGE, PROT_READ);
	CHECK(at > 0);
	munmap(p + HUGE, HUGE);
	CHECK_EQ(peer_call(&peer, p_peek, at + HUGE, 8, 0, 0), 2);
	CHECK_EQ(peer_call(&peer, p_peek, at, 8, 0, 0), 1); /* there, with other contents */
	peer_end(&peer);
}

TEST(quiet_mappings_raise_no_signal)
{
	char *p = memory(SMALL, 2 * HUGE);
	struct peer peer = peer_new();
	u64 cookie = reg(p, 2 * HUGE, KCOLL_READ | KCOLL_WRITE), gen, before;
	volatile u64 *slot = map_generation(cookie);
	long at;

	fill(p, 2 * HUGE, 1);
	at = peer_call(&peer, p_map_quiet, cookie, 0, 2 * HUGE, PROT_READ | PROT_WRITE);
	CHECK(at > 0 && slot);
	CHECK_EQ(peer_call(&peer, p_peek, at, 2 * HUGE, 1, 0), 0);
	munmap(p + HUGE, HUGE);
	gen = 0;
	CHECK(!sync_region(cookie, &gen));
	/* The page is unmapped: no signal, other bytes, and a new generation. */
	CHECK_EQ(peer_call(&peer, p_peek, at + HUGE, 64, 1, HUGE), 1);
	before = *slot;
	CHECK(before != gen && !(before & KCOLL_GEN_DEAD));
	CHECK_EQ(peer_call(&peer, p_poke, at + HUGE + PAGE, 64, 7, 0), 0);
	CHECK(*slot != before);
	CHECK_EQ(peer_call(&peer, p_peek, at, HUGE, 1, 0), 0);
	/* After SYNC it is the owner's page again. Stores from meanwhile are lost. */
	CHECK(mmap(p + HUGE, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + HUGE);
	fill(p + HUGE, HUGE, 2);
	CHECK_EQ(peer_call(&peer, p_peek, at + HUGE, 64, 2, 0), 1);
	gen = 0;
	CHECK(!sync_region(cookie, &gen));
	CHECK_EQ(peer_call(&peer, p_peek, at + HUGE, HUGE, 2, 0), 0);
	CHECK_EQ(*slot, gen);
	/* A region that has ended. */
	CHECK(!unreg(cookie));
	CHECK(*slot & KCOLL_GEN_DEAD);
	CHECK_EQ(peer_call(&peer, p_poke, at, 2 * HUGE, 9, 0), 0);
	CHECK(filled(p, HUGE, 1, 0) && filled(p + HUGE, HUGE, 2, 0));
	peer_end(&peer);
}

/* Its owner ends while a peer loads and stores all the time. */
TEST(quiet_mappings_outlive_their_owner)
{
	int channel[2], status;
	volatile u64 *slot;
	char *at, byte;
	double until;
	u64 cookie;
	pid_t owner;

	CHECK(!pipe(channel));
	owner = fork();
	if (!owner) {
		char *p = memory(SMALL, HUGE);

		fill(p, HUGE, 3);
		cookie = reg(p, HUGE, KCOLL_READ | KCOLL_WRITE | KCOLL_EAGER);
		CHECK_EQ(write(channel[1], &cookie, sizeof(cookie)), sizeof(cookie));
		pause();
	}
	CHECK_EQ(read(channel[0], &cookie, sizeof(cookie)), sizeof(cookie));
	at = map_quiet(cookie, 0, HUGE, PROT_READ | PROT_WRITE);
	slot = map_generation(cookie);
	CHECK(at != MAP_FAILED && slot && filled(at, HUGE, 3, 0));
	kill(owner, SIGKILL);
	/* Limited by time, not rounds: on a busy host the owner's processor may not run for many rounds. */
	until = seconds_now() + 10;
	for (int round = 0; !(*slot & KCOLL_GEN_DEAD); round++) {
		CHECK(round % 1024 || seconds_now() < until);
		byte = ((volatile char *)at)[(size_t)round * 4099 % HUGE];
		((volatile char *)at)[(size_t)round * 4099 % HUGE] = byte;
	}
	waitpid(owner, &status, 0);
	fill(at, HUGE, 4);
	CHECK(!munmap(at, HUGE));
	CHECK_ERR(map_quiet(cookie, 0, HUGE, PROT_READ) == MAP_FAILED ? -1 : 0, ENOENT);
}

/* --- peers that sync at the same time --- */

enum { SYNC_PEERS = 4, SYNC_BYTES = 16 << 20, HOLE = HUGE - PAGE };
struct sync_peer {
	volatile int arrived;
	volatile char *at; /* each peer has its own */
	volatile u64 *slot;
};

static long p_sync_map(long *a)
{
	struct sync_peer *own = (struct sync_peer *)a[0];

	own->slot = map_generation(a[1]);
	own->at = map_quiet(a[1], 0, SYNC_BYTES, PROT_READ);
	return own->slot && own->at != MAP_FAILED ? 0 : -errno;
}

/* Maps the blank page in place of the missing page; and all pages of the other windows, which take a
 * while to be removed again. */
static long p_sync_touch(long *a)
{
	struct sync_peer *own = (struct sync_peer *)a[0];
	size_t i;

	for (i = HUGE; i < SYNC_BYTES; i += 64 * PAGE)
		if (own->at[i] != 1)
			return 1;
	return own->at[HOLE] ? 2 : 0;
}

/* All peers at once. After SYNC the pages are the owner's, in the returned generation. */
static long p_sync_sync(long *a)
{
	struct sync_peer *own = (struct sync_peer *)a[0], *all = (struct sync_peer *)a[2];
	u64 gen = 0;
	char met;

	__sync_fetch_and_add(&all->arrived, 1);
	while (all->arrived < a[3] * SYNC_PEERS)
		sched_yield();
	if (sync_region(a[1], &gen))
		return -errno;
	met = own->at[HOLE];
	return *own->slot == gen && met != 1;
}

TEST(sync_waits_for_others_that_remove_blank_pages)
{
	enum { ROUNDS = 40 };
	struct sync_peer *shared =
	    mmap(NULL, (SYNC_PEERS + 1) * sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *p = memory(SMALL, SYNC_BYTES), *hole = p + HOLE;
	u64 cookie, gen;
	struct peer peers[SYNC_PEERS];
	int i, round;

	CHECK(shared != MAP_FAILED);
	memset(p, 1, SYNC_BYTES);
	cookie = reg(p, SYNC_BYTES, KCOLL_READ);
	for (i = 0; i < SYNC_PEERS; i++) {
		peers[i] = peer_new();
		CHECK_EQ(peer_call(&peers[i], p_sync_map, (long)&shared[i], cookie), 0);
	}
	for (round = 1; round <= ROUNDS; round++) {
		CHECK(!munmap(hole, PAGE));
		gen = 0;
		CHECK(!sync_region(cookie, &gen));
		for (i = 0; i < SYNC_PEERS; i++)
			CHECK_EQ(peer_call(&peers[i], p_sync_touch, (long)&shared[i]), 0);
		CHECK(mmap(hole, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == hole);
		memset(hole, 1, PAGE);
		for (i = 0; i < SYNC_PEERS; i++)
			peer_start(&peers[i], p_sync_sync, (long)&shared[i], cookie, (long)&shared[SYNC_PEERS], round);
		for (i = 0; i < SYNC_PEERS; i++)
			CHECK_EQ(peer_result(&peers[i]), 0);
	}
	CHECK(!unreg(cookie));
	for (i = 0; i < SYNC_PEERS; i++)
		peer_end(&peers[i]);
}

TEST(generation_page)
{
	char *p = memory(SMALL, HUGE), x[64];
	u64 cookie = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER), gen, done, other;
	volatile u64 *slot = map_generation(cookie);

	CHECK(slot);
	gen = *slot;
	CHECK(gen > 0 && !(gen & KCOLL_GEN_DEAD));
	CHECK(!copy_gen(cookie, 0, x, 64, KCOLL_READ, gen, &done));
	madvise(p, PAGE, MADV_DONTNEED);
	CHECK(*slot != gen);
	CHECK_ERR(copy_gen(cookie, 0, x, 64, KCOLL_READ, gen, &done), ESTALE);
	CHECK_ERR(sync_region(cookie, &gen), ESTALE);
	CHECK_EQ(gen, *slot);
	CHECK(!sync_region(cookie, &gen));
	CHECK(!copy_gen(cookie, 0, x, 64, KCOLL_READ, gen, &done));
	CHECK(!unreg(cookie));
	CHECK(*slot & KCOLL_GEN_DEAD);
	/* The slot goes to another region, but its value never repeats. */
	munmap((void *)((u64)slot & ~(PAGE - 1)), PAGE);
	usleep(200000);
	other = reg(p, PAGE, KCOLL_READ);
	slot = map_generation(other);
	CHECK(slot && *slot != gen);
}

TEST(many_regions_and_the_limit)
{
	char *p = memory(SMALL, HUGE), x[8];
	u64 cookies[5000];
	int n = 0, i;

	fill(p, HUGE, 1);
	while (n < 5000 && (cookies[n] = reg(p + n * 8, 8, KCOLL_READ)))
		n++;
	CHECK_EQ(errno, EDQUOT);
	CHECK_EQ(n, 4096);
	for (i = 0; i < n; i += 97)
		CHECK(!copy(cookies[i], 0, x, 8, KCOLL_READ) && filled(x, 8, 1, i * 8));
	for (i = 0; i < n; i += 2) {
		struct kcoll_unregister args = {.size = sizeof(args), .flags = KCOLL_NOWAIT, .cookie = cookies[i]};

		CHECK(!ioctl(dev, KCOLL_UNREGISTER, &args));
	}
	for (i = 1; i < n; i += 194)
		CHECK(!copy(cookies[i], 0, x, 8, KCOLL_READ));
}

/* --- tracepoints, debugfs --- */

/* The fields from which costs of a start, a byte, a page and of contention are computed. */
TEST(tracepoints_have_their_fields)
{
	static const struct {
		const char *event, *fields[10];
	} events[] = {
	    {"reg", {"region", "len", "ranges", "flags"}},
	    {"unreg", {"region", "len"}},
	    {"pin", {"region", "pages", "extents", "gate_ns", "lock_ns", "pin_ns", "conc", "remote", "retries"}},
	    {"unpin", {"region", "pages", "extents"}},
	    {"copy", {"region", "len", "write", "cached", "conc", "total_ns", "copy_ns", "pin_ns", "ret"}},
	    {"inval", {"region", "event", "start", "end", "dropped"}},
	    {"fault", {"region", "va", "huge"}},
	    {"zap", {"region", "sets"}},
	    {"gate", {"active", "limit"}},
	    {"uring", {"op", "inline_now", "ret"}},
	};
	char path[200], field[50];
	unsigned int i, k;

	for (i = 0; i < sizeof(events) / sizeof(*events); i++) {
		snprintf(path, sizeof(path), TRACING "events/kcoll/kcoll_%s/format", events[i].event);
		for (k = 0; k < 10 && events[i].fields[k]; k++) {
			snprintf(field, sizeof(field), " %s;\toffset:", events[i].fields[k]);
			if (file_count(path, field) != 1)
				fail(__FILE__, __LINE__, "%s has no field '%s'", path, events[i].fields[k]);
		}
	}
}

TEST(tracepoints_and_debugfs_show_what_happened)
{
	char all_pages[32];
	const char *const reported[] = {"kcoll_reg: region=",
					"kcoll_pin: region=",
					all_pages,
					"len=10 dir=read cached=0 conc=1",
					"len=2097152 dir=read cached=1",
					"kcoll_fault: region=",
					"kcoll_inval: region=",
					"kcoll_zap: region=",
					"kcoll_unpin: region=",
					"kcoll_unreg: region="};
	char *p = memory(SMALL, HUGE), *m, *x = memory(SMALL, HUGE);
	unsigned int i;
	u64 cookie;

	snprintf(all_pages, sizeof(all_pages), "pages=%d ", PAGES);
	memset(p, 1, HUGE);
	trace_begin("enable");
	cookie = reg(p, HUGE, KCOLL_READ);
	CHECK(!copy(cookie, 0, x, 10, KCOLL_READ));
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ));
	CHECK(!copy(cookie, 0, x, HUGE, KCOLL_READ));
	m = map(cookie, 0, HUGE, PROT_READ);
	CHECK(m != MAP_FAILED && m[7] == 1);
	madvise(p, PAGE, MADV_DONTNEED);
	CHECK(!sync_region(cookie, NULL));
	CHECK(file_count("/sys/kernel/debug/kcoll/regions", " 2097152 1 r 1 "));
	CHECK(file_count("/sys/kernel/debug/kcoll/stats", "pin_pages"));
	CHECK(!unreg(cookie));
	trace_end("enable");
	for (i = 0; i < sizeof(reported) / sizeof(*reported); i++)
		if (!file_count(TRACE, reported[i]))
			fail(__FILE__, __LINE__, "the trace does not say '%s'", reported[i]);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
