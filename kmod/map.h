/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_MAP_H
#define _KCOLL_MAP_H

#include <linux/bits.h>
#include <linux/mm_types.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <uapi/kcoll.h>

#include "payer.h"
#include "region.h"

struct kcoll_context;
struct file;
struct work_struct;

/*
 * The space of mmap offsets is common to all descriptors of a domain: a terabyte per region, the
 * upper half of it for the page of its generation. So one call zaps what all peers have mapped.
 */
#define MAP_INDEX_SHIFT 40
#define MAP_GENERATION BIT_ULL(39)
#define MAP_SLACK SZ_2M /* a region starts where it does within its first window */
#define MAP_MAX_BYTES (MAP_GENERATION - MAP_SLACK)
#define MAP_MAX_INDEX ((1U << 22) - 1)

/**
 * map_base() - where a region starts in the space of mmap offsets
 * @region: the region
 *
 * Return: the offset, in bytes.
 */
static inline u64 map_base(const struct kcoll_region *region)
{
	return ((u64)region->map_index << MAP_INDEX_SHIFT) +
	       (region->segments[0].start & (WINDOW_SIZE - 1));
}

/**
 * mapped_region() - the region that an area of memory shows
 * @vma: the area
 *
 * Return: the region; valid as long as the area.
 */
static inline struct kcoll_region *mapped_region(const struct vm_area_struct *vma)
{
	return ((struct kcoll_mapping *)vma->vm_private_data)->region;
}

int kcoll_map_attach(struct kcoll_context *ctx, struct kcoll_attach *args);
void kcoll_map_detach_all(struct kcoll_context *ctx);
int kcoll_map_mmap(struct file *file, struct vm_area_struct *vma);
void kcoll_map_zap_work(struct work_struct *work);
int kcoll_map_wait_zapped(struct kcoll_region *region, u64 target);
void kcoll_map_remove_blanks(struct kcoll_region *region);

#endif
