/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_ACCOUNT_H
#define _KCOLL_ACCOUNT_H

#include <linux/types.h>

struct kcoll_owner;
struct kcoll_user;

/*
 * What a pin set has been charged, so that it is given back alike if the parameters change
 * meanwhile.
 */
struct kcoll_charge {
	unsigned long pages;
	bool memlock;
};

/*
 * Pages that faults of an owner's mappings may have pinned whatever the limits say: a mapping
 * always works.
 */
#define FLOOR_PAGES 64

int kcoll_account_charge(struct kcoll_owner *owner, unsigned long pages, bool floor,
			 struct kcoll_charge *charge);
void kcoll_account_uncharge(struct kcoll_owner *owner, struct kcoll_charge *charge,
			    unsigned long pages);
void kcoll_account_make_room(struct kcoll_owner *owner, unsigned long pages);
void kcoll_account_note_limit(struct kcoll_owner *owner);
long kcoll_account_pinned_pages(void);
bool kcoll_account_contended(void);
bool kcoll_account_hopeless(struct kcoll_owner *owner, unsigned long pages);

int kcoll_account_metadata(struct kcoll_user *user, size_t bytes);
void kcoll_account_metadata_force(struct kcoll_user *user, size_t bytes);
bool kcoll_account_metadata_fits(struct kcoll_user *user);
void kcoll_account_metadata_ending(struct kcoll_user *user, size_t bytes);
void kcoll_account_metadata_end(struct kcoll_user *user, size_t bytes, bool ending);

void kcoll_account_stop(void);

#endif
