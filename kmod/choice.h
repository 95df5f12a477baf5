/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_CHOICE_H
#define _KCOLL_CHOICE_H

#include "account.h"
#include "pinset.h"
#include "region.h"

/* What a miss works with, under its slot's lock. */
struct kcoll_miss {
	struct kcoll_segment *segment;
	struct kcoll_slot *slot;
	unsigned long window;
	unsigned long place;	  /* of the set, in region->sets */
	unsigned long start, end; /* the pages to be pinned, of the owner's addresses */
	unsigned int flags;	  /* FOLL_..., to pin with */
	bool search;		  /* for the page that fails, if it fails all of them */
	unsigned long failed;	  /* the first page that could not be */
	struct page **pages;
	struct kcoll_charge charge; /* for all of them */
};

int kcoll_choice_make(struct kcoll_miss *miss, const struct kcoll_pin_need *need);
void kcoll_choice_note(struct kcoll_miss *miss, unsigned long hole);

#endif
