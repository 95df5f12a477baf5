// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much of a window to pin for a miss: what was asked, more of it with reuse, nothing known to
 * fail.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "choice.h"
#include "generation.h"

#define GROWN_BYTES \
	SZ_256K /* what a second miss in a window pins at least; a third pins all of it */

/*
 * REQUIRES: slot->lock. The page of the window that could not be pinned; 0: none known, or it may
 * have changed.
 */
static unsigned long known_hole(const struct kcoll_miss *miss)
{
	const struct kcoll_slot *slot = miss->slot;

	if (slot->window != miss->window || !slot->hole ||
	    time_after(jiffies, slot->hole_at + HZ) ||
	    slot->hole_gen != generation_now(&miss->segment->region->gen))
		return 0;
	return slot->hole;
}

/**
 * kcoll_choice_note() - remembers a page that could not be pinned
 * @miss: the miss
 * @hole: the owner's address of it
 *
 * Context: slot->lock.
 */
void kcoll_choice_note(struct kcoll_miss *miss, unsigned long hole)
{
	miss->slot->hole = hole;
	miss->slot->hole_at = jiffies;
	miss->slot->hole_gen = generation_now(&miss->segment->region->gen);
}

/**
 * kcoll_choice_make() - chooses the pages that a miss pins
 * @miss: in: segment, slot and window; out: place, start, end and search
 * @need: what is needed
 *
 * Those needed, more of the window if others of it were needed before, and none beyond a page
 * that is known to fail.
 *
 * Context: slot->lock.
 * Return: 0; -EFAULT: a needed page is known to fail, or what is pinned already would have to
 * go for it.
 */
int kcoll_choice_make(struct kcoll_miss *miss, const struct kcoll_pin_need *need)
{
	const struct kcoll_segment *segment = miss->segment;
	unsigned long base = need->va & ~(WINDOW_SIZE - 1), hole = known_hole(miss);
	unsigned long low = max(PAGE_ALIGN_DOWN(segment->start), base);
	unsigned long high = min(PAGE_ALIGN(segment->end), base + WINDOW_SIZE);
	unsigned long first = PAGE_ALIGN_DOWN(need->va);
	unsigned long last =
		min_t(u64, PAGE_ALIGN(need->va + min_t(u64, need->want, WINDOW_SIZE)), high);
	unsigned int grown =
		miss->slot->window == miss->window && !need->floor ? miss->slot->grown : 0;

	miss->place = window_place(miss->window, hole && hole < first);
	miss->search = !hole && !need->floor && !need->eager;
	if (hole && !need->fault && (hole == first || xa_load(&segment->region->sets, miss->place)))
		return -EFAULT;
	if (hole && hole != first) {
		if (hole > first)
			high = hole;
		else
			low = hole + PAGE_SIZE;
		last = min(last, high);
	}
	miss->start = first;
	miss->end = last;
	if (need->want == PIN_WHOLE || grown > 1) {
		miss->start = low;
		miss->end = high;
	} else if (grown) {
		miss->start = max(low, first & ~(GROWN_BYTES - 1));
		miss->end = min(high, ALIGN(last, GROWN_BYTES));
	}
	return 0;
}
