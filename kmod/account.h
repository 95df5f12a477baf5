/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_ACCOUNT_H
#define _KCOLL_ACCOUNT_H

#include <linux/types.h>

struct owner;
struct kcoll_user;

/* What a pin set has been charged, so that it is given back alike if the parameters change meanwhile. */
struct charge {
	unsigned long pages;
	bool memlock;
};

/* Pages that faults of an owner's mappings may have pinned whatever the limits say: a mapping always works. */
#define FLOOR_PAGES 64

int account_charge(struct owner *owner, unsigned long pages, bool floor, struct charge *charge);
void account_uncharge(struct owner *owner, struct charge *charge, unsigned long pages);
void account_make_room(struct owner *owner, unsigned long pages);
void account_note_limit(struct owner *owner);
long account_pinned_pages(void);

int account_metadata(struct kcoll_user *user, size_t bytes);
void account_metadata_end(struct kcoll_user *user, size_t bytes);

int account_start(void);
void account_stop(void);

#endif
