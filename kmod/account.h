/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_ACCOUNT_H
#define _KCOLL_ACCOUNT_H

#include <linux/types.h>

struct owner;

/* What a pin set has been charged, so that it is given back alike if the parameters change meanwhile. */
struct charge {
	unsigned long pages;
	bool memlock;
};

int account_charge(struct owner *owner, unsigned long pages, struct charge *charge);
void account_uncharge(struct owner *owner, const struct charge *charge);
void account_note_limit(struct owner *owner);
long account_pinned_pages(void);

int account_start(void);
void account_stop(void);

#endif
