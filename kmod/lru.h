/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_LRU_H
#define _KCOLL_LRU_H

#include <linux/list.h>
#include <linux/types.h>

struct kcoll_pinset;

/* The lists that each published pin set is in. */
enum kcoll_lru_kind { LRU_USER, LRU_OWNER, LRU_KINDS };

/* Published pin sets, those first that were not used for longest. */
struct kcoll_lru {
	struct list_head sets; /* under sets_lock */
	unsigned long pages;   /* of them; written under sets_lock */
	enum kcoll_lru_kind kind;
};

/* A set's place in one of the lists. */
struct kcoll_lru_place {
	struct list_head link;
	u32 seen; /* what set->used was when it was put there */
};

void kcoll_lru_init(struct kcoll_lru *lru, enum kcoll_lru_kind kind);
void kcoll_lru_add(struct kcoll_pinset *set);
void kcoll_lru_remove(struct kcoll_pinset *set);
struct kcoll_pinset *kcoll_lru_oldest(struct kcoll_lru *lru, bool warm);
bool kcoll_lru_cold(const struct kcoll_pinset *set);
struct kcoll_pinset *kcoll_lru_scan(struct kcoll_lru *lru, unsigned long pages,
				    unsigned long *scanned);

#endif
