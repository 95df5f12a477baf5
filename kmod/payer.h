/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_PAYER_H
#define _KCOLL_PAYER_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct kcoll_region;
struct kcoll_user;

/* What one mmap() has made, and all parts that it was split into: their vm_private_data. */
struct kcoll_mapping {
	struct kcoll_region *region; /* with a reference */
	struct kcoll_user *user;     /* whose process it is in, with a reference */
	refcount_t parts;
	struct list_head link; /* in region->mappings, under its lock */
};

struct kcoll_mapping *kcoll_payer_map(struct kcoll_region *region, struct kcoll_user *user);
void kcoll_payer_unmap(struct kcoll_mapping *mapping);
int kcoll_payer_start(struct kcoll_region *region, struct kcoll_user *user);
void kcoll_payer_settle(struct kcoll_region *region);
void kcoll_payer_done(struct kcoll_user *payer, size_t metadata, bool ending);

#endif
