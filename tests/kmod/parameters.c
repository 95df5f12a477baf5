// SPDX-License-Identifier: BSD-3-Clause
/* The parameters: text, defaults, and the effect of changes at run time; others are in accounting, access, gate, uring.
 */
#include "kcoll_test.h"

/* name, default in sysfs, and default in the text */
static const struct {
	const char *name, *value, *text;
} parameters[] = {{"pin_mode", "0\n", "(default 0; "},
		  {"gate_limit", "0\n", "(default 0; "},
		  {"uncached_max", "4096\n", "(default 4096; "},
		  {"uring_inline_max", "65536\n", "(default 65536; "},
		  {"huge_map", "Y\n", "(default Y; "},
		  {"unpin_delay_ms", "20\n", "(default 20; "},
		  {"memlock", "0\n", "(default 0; "},
		  {"max_pinned_mb", "0\n", "(default 0; "},
		  {"max_regions", "4096\n", "(default 4096; "},
		  {"max_ranges", "65536\n", "(default 65536; "},
		  {"max_metadata_mb", "0\n", "(default 0; "},
		  {"cross_userns", "N\n", "(default N; "}};

TEST(parameters_have_defaults_and_a_text_with_them)
{
	static char module[8 << 20];
	int file = open("/run/kcoll.ko", O_RDONLY);
	long len = 0, n;
	unsigned int i;
	char buffer[200];

	CHECK(file >= 0);
	while ((n = read(file, module + len, sizeof(module) - len)) > 0)
		len += n;
	close(file);
	for (i = 0; i < sizeof(parameters) / sizeof(*parameters); i++) {
		char *text;

		snprintf(buffer, sizeof(buffer), "/sys/module/kcoll/parameters/%s", parameters[i].name);
		if (file_count(buffer, parameters[i].value) != 1)
			fail(__FILE__, __LINE__, "%s is not %s", buffer, parameters[i].value);
		snprintf(buffer, sizeof(buffer), "parm=%s:", parameters[i].name);
		text = memmem(module, len, buffer, strlen(buffer));
		if (!text || !strstr(text, parameters[i].text))
			fail(__FILE__, __LINE__, "%s: no text, or it does not say '%s'", buffer, parameters[i].text);
	}
}

TEST(unknown_modes_are_refused)
{
	static const char *const modes[] = {"pin_mode", "memlock"}, *const bad[] = {"3", "-1", "x"};
	char path[100];
	unsigned int i, k;

	for (i = 0; i < 2; i++) {
		int file;

		snprintf(path, sizeof(path), "/sys/module/kcoll/parameters/%s", modes[i]);
		file = open(path, O_WRONLY);
		CHECK(file >= 0);
		for (k = 0; k < 3; k++)
			CHECK_ERR(write(file, bad[k], strlen(bad[k])), EINVAL);
		close(file);
		CHECK_EQ(file_count(path, "0\n"), 1);
	}
}

TEST(uncached_max)
{
	char *p = memory(SMALL, HUGE), x[64];
	u64 cookie = reg(p, HUGE, KCOLL_READ);

	memset(p, 1, HUGE);
	parameter("uncached_max", "63");
	CHECK(!copy(cookie, 0, x, 63, KCOLL_READ));
	CHECK_EQ(pinned_pages(), 0);
	CHECK(!copy(cookie, 0, x, 64, KCOLL_READ));
	CHECK_EQ(pinned_pages(), 1);
	parameter("uncached_max", "4096");
}

TEST(unpin_delay_ms)
{
	char *p = memory(SMALL, HUGE);
	u64 cookie = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER);

	parameter("unpin_delay_ms", "1000000");
	CHECK(!madvise(p, PAGE, MADV_DONTNEED));
	CHECK(!sync_region(cookie, NULL));
	usleep(300000);
	CHECK_EQ(pinned_pages(), 512);
	CHECK(!unreg(cookie)); /* does not wait for it */
	CHECK_EQ(pinned_pages(), 0);
	parameter("unpin_delay_ms", "0");
	cookie = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER);
	CHECK(!madvise(p, PAGE, MADV_DONTNEED));
	CHECK(!sync_region(cookie, NULL));
	for (double end = seconds_now() + 60; pinned_pages() && seconds_now() < end;)
		usleep(1000);
	CHECK_EQ(pinned_pages(), 0);
	parameter("unpin_delay_ms", "20");
}

TEST(max_regions)
{
	char *p = memory(SMALL, HUGE);
	int i;

	parameter("max_regions", "3");
	for (i = 0; i < 3; i++)
		CHECK(reg(p, PAGE, KCOLL_READ));
	CHECK_ERR(reg(p, PAGE, KCOLL_READ) ? 0 : -1, EDQUOT);
	parameter("max_regions", "4");
	CHECK(reg(p, PAGE, KCOLL_READ));
	parameter("max_regions", "4096");
}

TEST(max_ranges)
{
	char *p = memory(SMALL, HUGE);
	struct kcoll_range ranges[4] = {{(u64)p, 1}, {(u64)p + 1, 1}, {(u64)p + 2, 1}, {(u64)p + 3, 1}};
	u64 cookie;

	parameter("max_ranges", "7");
	cookie = reg_ranges(ranges, 4, KCOLL_READ);
	CHECK(cookie);
	CHECK_ERR(reg_ranges(ranges, 4, KCOLL_READ) ? 0 : -1, EDQUOT);
	CHECK(reg_ranges(ranges, 3, KCOLL_READ));
	CHECK_ERR(reg(p, PAGE, KCOLL_READ) ? 0 : -1, EDQUOT);
	CHECK(!unreg(cookie));
	CHECK(reg(p, PAGE, KCOLL_READ));
	parameter("max_ranges", "65536");
}

static u64 features(void)
{
	struct kcoll_info info = {.size = sizeof(info)};

	CHECK(!ioctl(device(), KCOLL_INFO, &info));
	return info.features;
}

TEST(huge_map)
{
	char *p = memory(THP, HUGE);
	struct kcoll_stats before, after;
	u64 cookie;
	char *m;

	if (!(features() & KCOLL_FEATURE_HUGE_MAP))
		skip("this kernel cannot map huge pages of a driver");
	fill(p, HUGE, 1);
	cookie = reg(p, HUGE, KCOLL_READ | KCOLL_EAGER);
	parameter("huge_map", "N");
	CHECK(!(features() & KCOLL_FEATURE_HUGE_MAP));
	m = map(cookie, 0, HUGE, PROT_READ);
	CHECK(!stats_get(KCOLL_STATS_ALL, &before));
	CHECK(m != MAP_FAILED && filled(m, HUGE, 1, 0));
	CHECK(!stats_get(KCOLL_STATS_ALL, &after));
	CHECK_EQ(after.faults - before.faults, 512 / 64);
	parameter("huge_map", "Y");
	CHECK(features() & KCOLL_FEATURE_HUGE_MAP);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
