// SPDX-License-Identifier: GPL-2.0-only
/* Pins a region when it is registered. */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "eager.h"
#include "pinset.h"
#include "region.h"

/* As REGISTER says it: a limit, or memory that keeps changing. */
static int errno_of(long err)
{
	return err == -EDQUOT || err == -EAGAIN ? -ENOMEM : err;
}

/* Pins all that a segment has in its window at va. */
static int pin_one(struct kcoll_segment *segment, unsigned long va, struct kcoll_counters *stats,
		   struct kcoll_pin_times *times)
{
	struct kcoll_pin_need need = { .va = va, .want = PIN_WHOLE, .eager = true };
	unsigned long end = min(PAGE_ALIGN(segment->end), (va | (WINDOW_SIZE - 1)) + 1);
	struct kcoll_pinset *set = kcoll_pinset_pin(segment, &need, stats, times);
	unsigned long pinned;

	if (IS_ERR(set))
		return errno_of(PTR_ERR(set));
	pinned = pinset_end(set);
	pinset_put(set);
	if (pinned >= end)
		return 0;
	/* Why not all of it: the error of the page behind the set. */
	need = (struct kcoll_pin_need){ .va = pinned, .want = PAGE_SIZE, .fault = true };
	set = kcoll_pinset_pin(segment, &need, stats, times);
	if (IS_ERR(set))
		return errno_of(PTR_ERR(set));
	pinset_put(set);
	return -ENOMEM; /* the process changes its memory */
}

/**
 * kcoll_eager_pin() - pins all of a region
 * @region: the region
 * @stats: of the descriptor that registers it
 *
 * Return: 0 or an errno of REGISTER with KCOLL_EAGER.
 */
int kcoll_eager_pin(struct kcoll_region *region, struct kcoll_counters *stats)
{
	struct kcoll_pin_times times = {};
	u32 s;

	for (s = 0; s < region->nsegments; s++) {
		struct kcoll_segment *segment = &region->segments[s];
		unsigned long va = segment->start;
		int err;

		for (; va < segment->end; va = (va | (WINDOW_SIZE - 1)) + 1) {
			err = pin_one(segment, va, stats, &times);
			if (err)
				return err;
			cond_resched();
		}
	}
	return 0;
}
