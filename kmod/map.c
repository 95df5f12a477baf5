// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings: a peer sees a region's pages, or the page with its generation, in its own address
 * space.
 *
 * A page enters a peer's page table only from a published set and under map_sem (read; write for
 * 2 MiB as one, so that they and a table of single pages do not meet in one place). The zap work
 * takes map_sem (write) after sets were unpublished and removes what they left in any page table;
 * only then their pages may be unpinned. A mapping holds a reference to its region, so a fault
 * always finds it, dead or alive.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "account.h"
#include "compat.h"
#include "device.h"
#include "domain.h"
#include "fault.h"
#include "map.h"
#include "params.h"
#include "pinset.h"
#include "trace.h"

/* That this descriptor has shown the cookie of a region. */
struct kcoll_attachment {
	struct rb_node node;
	u64 cookie;
	u32 index; /* of the region: its place in the domain's space of mmap offsets */
	bool quiet;
};

/* What it takes, as the allocator rounds. */
#define ATTACHMENT_BYTES roundup_pow_of_two(sizeof(struct kcoll_attachment))

/* --- zapping --- */

static void zap(struct kcoll_pinset *set)
{
	struct kcoll_segment *segment = set->segment;
	u64 offset = map_base(set->region) + segment->offset + (set->start - segment->start);

	unmap_mapping_range(&set->region->domain->space, offset, (u64)set->pages << PAGE_SHIFT, 1);
}

/* Takes at most a batch of sets from all mappings; then they wait for their last user. */
static void zap_batch(struct kcoll_region *region, struct list_head *dropped)
{
	struct kcoll_pinset *set, *next;
	unsigned int n = 0, zapped = 0;
	LIST_HEAD(batch);

	down_write(&region->map_sem);
	list_for_each_entry_safe(set, next, dropped, link) {
		if (n == DROP_BATCH)
			break;
		n++;
		list_move_tail(&set->link, &batch);
		if (atomic_read(&region->maps) && region->mappable) {
			zap(set);
			zapped++;
		}
	}
	up_write(&region->map_sem);

	spin_lock(&region->lock);
	region->zaps += n;
	spin_unlock(&region->lock);
	wake_up_all(&region->wait);

	if (zapped) {
		stats_add(&region->domain->events, zaps, zapped);
		trace_kcoll_zap(region->cookie, zapped);
	}
	list_for_each_entry_safe(set, next, &batch, link) {
		list_del_init(&set->link);
		kcoll_pinset_retire(set);
	}
}

/**
 * kcoll_map_zap_work() - takes unpublished sets from all mappings
 * @work: of the region
 *
 * In batches: faults of the region wait for one of them at most.
 */
void kcoll_map_zap_work(struct work_struct *work)
{
	struct kcoll_region *region = container_of(work, struct kcoll_region, zap_work);
	LIST_HEAD(dropped);

	spin_lock(&region->lock);
	list_splice_init(&region->dropped, &dropped);
	spin_unlock(&region->lock);

	while (!list_empty(&dropped)) {
		zap_batch(region, &dropped);
		cond_resched();
	}
	kcoll_region_put(region);
}

static bool zapped_until(struct kcoll_region *region, u64 target)
{
	bool done;

	spin_lock(&region->lock);
	done = region->zaps >= target;
	spin_unlock(&region->lock);
	return done;
}

/**
 * kcoll_map_wait_zapped() - waits until what was dropped is no longer mapped
 * @region: the region
 * @target: region->drops then
 *
 * Return: 0; -EINTR: killed.
 */
int kcoll_map_wait_zapped(struct kcoll_region *region, u64 target)
{
	return wait_event_killable(region->wait, zapped_until(region, target)) ? -EINTR : 0;
}

/**
 * kcoll_map_remove_blanks() - no mapping shows the blank page any more
 * @region: the region
 *
 * So all that is shown is the owner's. Who comes while another task is still removing it waits:
 * `blanks` is taken back when it is gone.
 *
 * Context: with a reference; may sleep.
 */
void kcoll_map_remove_blanks(struct kcoll_region *region)
{
	/* Pairs with the release below. */
	if (!smp_load_acquire(&region->blanks))
		return;
	down_write(&region->map_sem);
	unmap_mapping_range(&region->domain->space, map_base(region), region->len, 1);
	/* Pairs with the acquire above: who sees it finds none. */
	smp_store_release(&region->blanks, false);
	up_write(&region->map_sem);
}

/* --- vmas --- */

/* A mapping was split or moved: one more part. */
static void map_open(struct vm_area_struct *vma)
{
	struct kcoll_mapping *mapping = vma->vm_private_data;

	refcount_inc(&mapping->parts);
}

static void map_close(struct vm_area_struct *vma)
{
	struct kcoll_mapping *mapping = vma->vm_private_data;

	if (refcount_dec_and_test(&mapping->parts))
		kcoll_payer_unmap(mapping);
}

static const struct vm_operations_struct map_ops = {
	.open = map_open,
	.close = map_close,
	.fault = kcoll_fault_serve,
#if KCOLL_HUGE_MAP
	.huge_fault = kcoll_fault_serve_huge,
#endif
};

static const struct vm_operations_struct quiet_map_ops = {
	.open = map_open,
	.close = map_close,
	.fault = kcoll_fault_serve_quiet,
#if KCOLL_HUGE_MAP
	.huge_fault = kcoll_fault_serve_huge,
#endif
};

static vm_fault_t generation_fault(struct vm_fault *vmf)
{
	struct kcoll_region *region = mapped_region(vmf->vma);

	vmf->page = kcoll_generation_page(&region->gen);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct generation_ops = {
	.open = map_open,
	.close = map_close,
	.fault = generation_fault,
};

/* --- attaching and mapping --- */

static int compare_index(const void *index, const struct rb_node *node)
{
	u32 a = *(const u32 *)index, b = rb_entry(node, struct kcoll_attachment, node)->index;

	return a < b ? -1 : a > b;
}

static int compare_nodes(struct rb_node *node, const struct rb_node *other)
{
	return compare_index(&rb_entry(node, struct kcoll_attachment, node)->index, other);
}

/*
 * Adds it, or changes the one that is there: the same region's, or that of one that had the index
 * before, which is of no use any more. Returns whether it was added.
 */
static bool remember(struct kcoll_context *ctx, struct kcoll_attachment *attachment)
{
	struct kcoll_attachment *old;
	struct rb_node *node;

	spin_lock(&ctx->attach_lock);
	node = rb_find_add(&attachment->node, &ctx->attachments, compare_nodes);
	if (node) {
		old = rb_entry(node, struct kcoll_attachment, node);
		old->cookie = attachment->cookie;
		old->quiet = attachment->quiet;
	}
	spin_unlock(&ctx->attach_lock);
	return !node;
}

/**
 * kcoll_map_attach() - ATTACH
 * @ctx: the descriptor
 * @args: the arguments of the command
 *
 * Return: 0 or an errno of the uapi header.
 */
int kcoll_map_attach(struct kcoll_context *ctx, struct kcoll_attach *args)
{
	struct kcoll_attachment *attachment;
	struct kcoll_user *user = ctx->owner->user;
	struct kcoll_region *region;
	int err;

	if (args->flags & ~KCOLL_QUIET)
		return -EINVAL;
	region = kcoll_region_get(ctx, args->cookie, 0);
	if (IS_ERR(region))
		return PTR_ERR(region);
	err = kcoll_account_metadata(user, ATTACHMENT_BYTES);
	if (err)
		goto put;
	attachment = kmalloc(sizeof(*attachment), GFP_KERNEL_ACCOUNT);
	if (!attachment) {
		err = -ENOMEM;
		goto uncharge;
	}
	attachment->index = region->map_index;
	attachment->cookie = args->cookie;
	attachment->quiet = args->flags & KCOLL_QUIET;
	if (!remember(ctx, attachment)) {
		kfree(attachment);
		kcoll_account_metadata_end(user, ATTACHMENT_BYTES, false);
	}
	args->len = region->len;
	args->map_offset = region->mappable ? map_base(region) : 0;
	args->gen_offset = ((u64)region->map_index << MAP_INDEX_SHIFT) + MAP_GENERATION;
	args->gen_slot = region->gen.index;
	args->direction = region->direction;
	args->gen = generation_now(&region->gen);
	kcoll_region_put(region);
	return 0;

uncharge:
	kcoll_account_metadata_end(user, ATTACHMENT_BYTES, false);
put:
	kcoll_region_put(region);
	return err;
}

/**
 * kcoll_map_detach_all() - forgets the attachments, when the descriptor is closed
 * @ctx: the descriptor
 */
void kcoll_map_detach_all(struct kcoll_context *ctx)
{
	struct kcoll_attachment *attachment, *next;

	rbtree_postorder_for_each_entry_safe(attachment, next, &ctx->attachments, node) {
		kfree(attachment);
		kcoll_account_metadata_end(ctx->owner->user, ATTACHMENT_BYTES, false);
		cond_resched();
	}
}

/* The region of an mmap offset, if this descriptor has attached it and may still reach it. */
static struct kcoll_region *attached(struct kcoll_context *ctx, u64 offset, bool *quiet)
{
	u32 index = offset >> MAP_INDEX_SHIFT;
	struct rb_node *node;
	u64 cookie = 0;

	spin_lock(&ctx->attach_lock);
	node = rb_find(&index, &ctx->attachments, compare_index);
	if (node) {
		cookie = rb_entry(node, struct kcoll_attachment, node)->cookie;
		*quiet = rb_entry(node, struct kcoll_attachment, node)->quiet;
	}
	spin_unlock(&ctx->attach_lock);
	return cookie ? kcoll_region_get_index(ctx, index, cookie) : ERR_PTR(-EACCES);
}

static int mmap_generation(struct vm_area_struct *vma, u64 place)
{
	if (place != MAP_GENERATION || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	/* VM_IO: or MADV_DOFORK would take VM_DONTCOPY away. */
	kcoll_vma_flags(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
			VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &generation_ops;
	return 0;
}

static int blank_page(struct kcoll_region *region)
{
	struct page *page;

	if (READ_ONCE(region->blank))
		return 0;
	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	if (cmpxchg(&region->blank, NULL, page))
		__free_page(page);
	return 0;
}

static int mmap_region_pages(struct vm_area_struct *vma, struct kcoll_region *region, u64 offset,
			     bool quiet)
{
	u64 place = offset - map_base(region);

	if (!region->mappable)
		return -EINVAL;
	if (offset < map_base(region) || place > region->len ||
	    vma->vm_end - vma->vm_start > region->len - place)
		return -EINVAL;
	if ((vma->vm_flags & VM_WRITE) && !(region->direction & KCOLL_WRITE))
		return -EACCES;
	if (quiet && blank_page(region))
		return -ENOMEM;
	kcoll_vma_flags(vma, VM_PFNMAP | VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
			VM_MAYEXEC | (vma->vm_flags & VM_WRITE ? 0 : VM_MAYWRITE));
	vma->vm_ops = quiet ? &quiet_map_ops : &map_ops;
	return 0;
}

/**
 * kcoll_map_mmap() - mmap() of a region or of its generation
 * @file: the descriptor's file
 * @vma: the mapping
 *
 * Return: 0 or an errno.
 */
int kcoll_map_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kcoll_context *ctx = file->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 place = offset & ((1ULL << MAP_INDEX_SHIFT) - 1);
	struct kcoll_mapping *mapping;
	struct kcoll_region *region;
	bool quiet = false;
	int err;

	if (!context_is_ours(ctx))
		return -EPERM;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_pgoff >> (64 - PAGE_SHIFT)))
		return -EINVAL;
	region = attached(ctx, offset, &quiet);
	if (IS_ERR(region))
		return PTR_ERR(region);
	mapping = kcoll_payer_map(region, ctx->owner->user);
	kcoll_region_put(region);
	if (IS_ERR(mapping))
		return PTR_ERR(mapping);
	err = place & MAP_GENERATION ? mmap_generation(vma, place) :
				       mmap_region_pages(vma, region, offset, quiet);
	if (err) {
		kcoll_payer_unmap(mapping);
		return err;
	}
	vma->vm_private_data = mapping;
	/* All mappings of the domain are found in one place. */
	vma_set_file(vma, region->domain->file);
	return 0;
}
