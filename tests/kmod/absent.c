// SPDX-License-Identifier: BSD-3-Clause
/*
 * Pages of the owner that have to be waited for, of a userfaultfd whose handler is this program: who needs one waits,
 * and holds nothing that others need. The owner's memory is one window, of which two pages are there.
 */
#include <linux/futex.h>
#include <sys/syscall.h>

#include "kcoll_test.h"

enum { HERE = 256, HERE_TOO = 257, MISSING = 8, OTHER = 9, LIMIT_MS = 20000, NEVER_MS = 200 };

static char *area;
static int faults;
static u64 cookie;

static void give(int page) { missing_give(faults, area, page, page); }

static void begin(u32 gate_limit)
{
	struct kcoll_register args = {.size = sizeof(args), .flags = KCOLL_READ, .len = HUGE, .gate_limit = gate_limit};

	area = memory_missing(HUGE, &faults);
	give(HERE);
	give(HERE_TOO);
	args.addr = (u64)area;
	CHECK(!ioctl(device(), KCOLL_REGISTER, &args));
	cookie = args.cookie;
}

static int asked(int ms) { return missing_asked(faults, area, ms); }

enum how { COPIES, LOADS, LOADS_QUIETLY, EXITS };

/* Ends with 0 if what it gets of the page is right. */
static pid_t peer(enum how how, int page)
{
	pid_t pid = fork();
	char *mapped;
	u64 word;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	device_again();
	if (how == COPIES)
		_exit(copy(cookie, page * PAGE, &word, sizeof(word), KCOLL_READ) || word != (u64)page);
	mapped = how == LOADS_QUIETLY ? map_quiet(cookie, 0, HUGE, PROT_READ) : map(cookie, 0, HUGE, PROT_READ);
	if (mapped == MAP_FAILED)
		_exit(2);
	/* The kernel reads the list when the process has ended, so that no signal reaches it. */
	if (how == EXITS)
		_exit(!!syscall(SYS_set_robust_list, mapped + page * PAGE, sizeof(struct robust_list_head)));
	_exit(*(volatile u64 *)(mapped + page * PAGE) != (u64)page);
}

static bool ends(pid_t pid, int ms)
{
	double end = seconds_now() + ms / 1e3;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (seconds_now() > end)
			return false;
		usleep(1000);
	}
	CHECK_EQ(status, 0);
	return true;
}

static void end_killed(pid_t pid)
{
	CHECK(!kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* --- what is there is served --- */

static void served_alone(enum how how)
{
	begin(0);
	CHECK(ends(peer(how, HERE), LIMIT_MS));
	CHECK_EQ(asked(NEVER_MS), -1);
}
TEST(copies_ask_for_no_other_page) { served_alone(COPIES); }
TEST(loads_ask_for_no_other_page) { served_alone(LOADS); }

static void served_beside(enum how waits, enum how how)
{
	pid_t pid;

	begin(0);
	pid = peer(waits, MISSING);
	CHECK_EQ(asked(LIMIT_MS), MISSING);
	CHECK(ends(peer(how, HERE), LIMIT_MS));
	CHECK(ends(peer(how, HERE_TOO), LIMIT_MS));
	CHECK(!ends(pid, 0));
	end_killed(pid);
}
TEST(copies_are_served_beside_a_copy_that_waits) { served_beside(COPIES, COPIES); }
TEST(copies_are_served_beside_a_load_that_waits) { served_beside(LOADS, COPIES); }
TEST(loads_are_served_beside_a_copy_that_waits) { served_beside(COPIES, LOADS); }
TEST(loads_are_served_beside_a_load_that_waits) { served_beside(LOADS, LOADS); }
TEST(quiet_loads_are_served_beside_one_that_waits) { served_beside(LOADS_QUIETLY, LOADS_QUIETLY); }

/* --- what comes is used --- */

static void comes(enum how how)
{
	pid_t pid;

	begin(0);
	pid = peer(how, MISSING);
	CHECK_EQ(asked(LIMIT_MS), MISSING);
	CHECK(!ends(pid, NEVER_MS));
	give(MISSING);
	CHECK(ends(pid, LIMIT_MS));
}
TEST(a_copy_gets_a_page_that_comes_late) { comes(COPIES); }
TEST(a_load_gets_a_page_that_comes_late) { comes(LOADS); }
TEST(a_quiet_load_gets_a_page_that_comes_late) { comes(LOADS_QUIETLY); }

/* --- who exits does not wait --- */

static void exits(u32 gate_limit)
{
	pid_t pid;

	begin(gate_limit);
	pid = peer(COPIES, MISSING);
	CHECK_EQ(asked(LIMIT_MS), MISSING);
	CHECK(ends(peer(EXITS, HERE), LIMIT_MS));
	CHECK(ends(peer(EXITS, OTHER), LIMIT_MS)); /* which is not there */
	CHECK_EQ(asked(NEVER_MS), -1);
	CHECK(!ends(pid, 0));
	end_killed(pid);
}
TEST(a_task_exits_beside_one_that_waits) { exits(0); }
TEST(a_task_exits_past_those_that_wait_at_the_gate) { exits(1); }

TEST(a_task_exits_past_one_that_has_the_window)
{
	pid_t pid, holder;

	begin(1);
	pid = peer(COPIES, MISSING);
	CHECK_EQ(asked(LIMIT_MS), MISSING);
	holder = peer(LOADS, HERE); /* has the window's lock and waits at the gate, which lets in one */
	CHECK(!ends(holder, 1000));
	CHECK(ends(peer(EXITS, HERE), LIMIT_MS));
	end_killed(holder);
	end_killed(pid);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
