// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings: a peer sees a region's pages, or the page with its generation, in its own address space.
 *
 * A page enters a peer's page table only from a published set and under map_sem (read). The zap work takes map_sem
 * (write) after sets were unpublished and removes what they left in any page table; only then their pages may be
 * unpinned. A mapping holds a reference to its region, so a fault always finds it, dead or alive.
 *
 * A fault that misses must pin, and pinning takes the owner's mmap_lock: it drops the peer's first (two processes that
 * map each other would deadlock otherwise) and asks for the fault to be repeated. What went wrong is told to the
 * repeated fault, and to no other, through a note (region->notes). Pages are not refcounted by the mapping
 * (VM_PFNMAP): get_user_pages() on it fails, by design.
 *
 * What cannot be served raises SIGBUS, or in a quiet mapping shows the region's blank page. That page lives as long as
 * the region, to which every mapping holds a reference. The generation moves on before the page appears, and the page
 * is removed (map_remove_blanks) before a generation is handed out in which the mapping is to hold again.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include "compat.h"
#include "device.h"
#include "map.h"
#include "note.h"
#include "params.h"
#include "pinset.h"
#include "trace.h"

#define AROUND 64 /* pages that one fault maps, if the set has them */

#define PIN_TRIES 20 /* of a fault without allowance, 25 ms apart: cold sets are on their way out */

/* That this descriptor has shown the cookie of a region. */
struct attachment {
	u64 cookie;
	bool quiet;
	struct rcu_head rcu;
};

/* All descriptors share one address_space, so that all mappings of a region are found in one place. */
static struct address_space space;
static const struct address_space_operations no_operations = {};
static struct file *anchor; /* lends `space` an inode */

static u64 region_base(const struct region *region)
{
	return ((u64)region->map_index << MAP_INDEX_SHIFT) + (region->segments[0].start & (WINDOW_SIZE - 1));
}

/* --- zapping --- */

static void zap(struct pinset *set)
{
	struct segment *segment = set->segment;
	u64 offset = region_base(set->region) + segment->offset + (set->start - segment->start);

	unmap_mapping_range(&space, offset, (u64)set->pages << PAGE_SHIFT, 1);
}

/* What was unpublished disappears from all mappings, then waits for its last user. */
void map_zap_work(struct work_struct *work)
{
	struct region *region = container_of(work, struct region, zap_work);
	struct pinset *set, *next;
	unsigned int n = 0, zapped = 0;
	LIST_HEAD(dropped);

	spin_lock(&region->lock);
	list_splice_init(&region->dropped, &dropped);
	spin_unlock(&region->lock);

	down_write(&region->map_sem);
	list_for_each_entry(set, &dropped, link) {
		n++;
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
		stats_add(&stats_module, zaps, zapped);
		trace_kcoll_zap(region->cookie, zapped);
	}
	list_for_each_entry_safe(set, next, &dropped, link) {
		list_del_init(&set->link);
		pinset_retire(set);
	}
	region_put(region);
}

/* --- faults --- */

/* Where in the region a fault is; false: beyond its end. */
static bool fault_place(struct vm_fault *vmf, struct region *region, struct segment **segment, unsigned long *va)
{
	u64 offset = ((u64)vmf->pgoff << PAGE_SHIFT) - region_base(region);

	if (offset >= region->len)
		return false;
	*segment = region_segment(region, offset);
	*va = (*segment)->start + (offset - (*segment)->offset);
	return true;
}

/* REQUIRES: map_sem. The published set for a page, with a reference. */
static struct pinset *published(struct region *region, struct segment *segment, unsigned long va)
{
	return READ_ONCE(region->dead) ? NULL : pinset_tryget(&region->windows[segment_window(segment, va)]);
}

static vm_fault_t insert_pages(struct vm_fault *vmf, struct pinset *set, unsigned long va)
{
	struct vm_area_struct *vma = vmf->vma;
	u32 page = (va - set->start) >> PAGE_SHIFT, i, n;
	vm_fault_t ret = VM_FAULT_NOPAGE;

	n = min_t(u32, AROUND, set->pages - page);
	n = min_t(u32, n, (vma->vm_end - (vmf->address & PAGE_MASK)) >> PAGE_SHIFT);
	for (i = 0; i < n; i++) {
		struct extent *extent = pinset_extent(set, page + i);
		unsigned long pfn = page_to_pfn(extent->page) + (page + i - extent->first);
		vm_fault_t one = vmf_insert_pfn(vma, (vmf->address & PAGE_MASK) + ((unsigned long)i << PAGE_SHIFT), pfn);

		/* Only the first was asked for; it also fails only for want of memory. */
		if (one != VM_FAULT_NOPAGE)
			return i ? ret : one;
	}
	return ret;
}

/* Inserts from a published set; 0: there is none. */
static vm_fault_t fault_hit(struct vm_fault *vmf, struct region *region, struct segment *segment, unsigned long va)
{
	struct pinset *set;
	vm_fault_t ret = 0;

	down_read(&region->map_sem);
	set = published(region, segment, va);
	if (set) {
		ret = insert_pages(vmf, set, va);
		pinset_put(set);
	}
	up_read(&region->map_sem);
	return ret;
}

/* A mapping cannot do without pinned pages, as a copy can: so it waits a while for its allowance. */
static int pin_for_fault(struct segment *segment, struct window *window)
{
	struct pin_times times = {};
	struct pinset *set;
	int tries;

	for (tries = 0; tries < PIN_TRIES; tries++) {
		set = pinset_pin(segment, window, &stats_module, &times);
		if (!IS_ERR(set)) {
			pinset_put(set);
			return 0;
		}
		if (PTR_ERR(set) != -ENOMEM || fatal_signal_pending(current))
			break;
		schedule_timeout_killable(HZ / 40);
	}
	/* A kill ends the fault by itself; what changed meanwhile is looked at anew. */
	return PTR_ERR(set) == -EINTR || PTR_ERR(set) == -EAGAIN ? 0 : PTR_ERR(set);
}

static vm_fault_t fault_miss(struct vm_fault *vmf, struct region *region, struct segment *segment, unsigned long va)
{
	unsigned long address = vmf->address & PAGE_MASK;
	int err;

	if (READ_ONCE(region->dead))
		return VM_FAULT_SIGBUS;
	/* A first attempt takes away what one that was given up, by a signal, has left. */
	if (note_take(region, address) && (vmf->flags & FAULT_FLAG_TRIED))
		return VM_FAULT_SIGBUS;
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) || (vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return VM_FAULT_SIGBUS;

	/* Without the lock the mapping, and its reference, may go away. */
	percpu_ref_get(&region->ref);
	kcoll_release_fault_lock(vmf);
	err = pin_for_fault(segment, &region->windows[segment_window(segment, va)]);
	if (err)
		note_leave(region, address, err);
	region_put(region);
	return VM_FAULT_RETRY;
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct region *region = vmf->vma->vm_private_data;
	struct segment *segment;
	unsigned long va;
	vm_fault_t ret;

	if (!fault_place(vmf, region, &segment, &va))
		return VM_FAULT_SIGBUS;
	stats_add(&stats_module, faults, 1);
	trace_kcoll_fault(region->cookie, va, false);
	ret = fault_hit(vmf, region, segment, va);
	return ret ?: fault_miss(vmf, region, segment, va);
}

/* The same, but what cannot be served shows a page that is nobody's memory, after the generation has moved on. */
static vm_fault_t map_fault_quiet(struct vm_fault *vmf)
{
	struct region *region = vmf->vma->vm_private_data;
	vm_fault_t ret = map_fault(vmf);

	if (!(ret & VM_FAULT_SIGBUS))
		return ret;
	down_read(&region->map_sem);
	WRITE_ONCE(region->blanks, true);
	spin_lock(&region->lock);
	if (!region->dead)
		generation_bump(&region->gen);
	spin_unlock(&region->lock);
	ret = vmf_insert_pfn(vmf->vma, vmf->address & PAGE_MASK, page_to_pfn(region->blank));
	up_read(&region->map_sem);
	return ret;
}

/*
 * REQUIRES: a reference. No mapping shows the blank page any more; so all that is shown is the owner's. Who comes while
 * another task is still removing it waits: `blanks` is taken back when it is gone.
 */
void map_remove_blanks(struct region *region)
{
	/* Pairs with the release below. */
	if (!smp_load_acquire(&region->blanks))
		return;
	down_write(&region->map_sem);
	unmap_mapping_range(&space, region_base(region), region->len, 1);
	smp_store_release(&region->blanks, false);
	up_write(&region->map_sem);
}

#if KCOLL_HUGE_MAP
/* May be called under the lock of the mapping alone, which must not be dropped here: what is not at hand falls back. */
static vm_fault_t map_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct region *region = vmf->vma->vm_private_data;
	unsigned long start = vmf->address & PMD_MASK, va;
	vm_fault_t ret = VM_FAULT_FALLBACK;
	struct segment *segment;
	struct pinset *set;

	if (order != PMD_SHIFT - PAGE_SHIFT || !READ_ONCE(param_huge_map) || start < vmf->vma->vm_start ||
	    start + PMD_SIZE > vmf->vma->vm_end || !fault_place(vmf, region, &segment, &va))
		return VM_FAULT_FALLBACK;
	/* The peer's address and the owner's must be alike within a huge page. */
	if ((va ^ vmf->address) & ~PMD_MASK & PAGE_MASK)
		return VM_FAULT_FALLBACK;

	down_read(&region->map_sem);
	set = published(region, segment, va);
	if (set) {
		if (set->pages == PMD_SIZE >> PAGE_SHIFT && set->n == 1 &&
		    IS_ALIGNED(page_to_pfn(set->extents[0].page), PMD_SIZE >> PAGE_SHIFT)) {
			ret = kcoll_insert_huge(vmf, page_to_pfn(set->extents[0].page));
			trace_kcoll_fault(region->cookie, va, true);
			stats_add(&stats_module, faults, 1);
		}
		pinset_put(set);
	}
	up_read(&region->map_sem);
	return ret;
}
#endif

/* A mapping was split or moved: one more reference. */
static void map_open(struct vm_area_struct *vma)
{
	struct region *region = vma->vm_private_data;

	percpu_ref_get(&region->ref);
	atomic_inc(&region->maps);
}

static void map_close(struct vm_area_struct *vma)
{
	struct region *region = vma->vm_private_data;

	atomic_dec(&region->maps);
	region_put(region);
}

static const struct vm_operations_struct map_ops = {
	.open = map_open,
	.close = map_close,
	.fault = map_fault,
#if KCOLL_HUGE_MAP
	.huge_fault = map_huge_fault,
#endif
};

static const struct vm_operations_struct quiet_map_ops = {
	.open = map_open,
	.close = map_close,
	.fault = map_fault_quiet,
#if KCOLL_HUGE_MAP
	.huge_fault = map_huge_fault,
#endif
};

static vm_fault_t generation_fault(struct vm_fault *vmf)
{
	struct region *region = vmf->vma->vm_private_data;

	vmf->page = generation_page(&region->gen);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct generation_ops = {
	.open = map_open,
	.close = map_close,
	.fault = generation_fault,
};

/* --- attaching and mapping --- */

int map_attach(struct context *ctx, struct kcoll_attach *args)
{
	struct attachment *attachment, *old;
	struct region *region;
	int err = 0;

	if (args->flags & ~KCOLL_QUIET)
		return -EINVAL;
	region = region_get(ctx, args->cookie, 0);
	if (IS_ERR(region))
		return PTR_ERR(region);
	attachment = kmalloc(sizeof(*attachment), GFP_KERNEL_ACCOUNT);
	if (!attachment) {
		err = -ENOMEM;
		goto put;
	}
	attachment->cookie = args->cookie;
	attachment->quiet = args->flags & KCOLL_QUIET;
	/* An index that was another region's before: its attachment is of no use any more. */
	old = xa_store(&ctx->attachments, region->map_index, attachment, GFP_KERNEL_ACCOUNT);
	err = xa_err(old);
	if (err) {
		kfree(attachment);
		goto put;
	}
	if (old)
		kfree_rcu(old, rcu);
	args->len = region->len;
	args->map_offset = region->mappable ? region_base(region) : 0;
	args->gen_offset = ((u64)region->map_index << MAP_INDEX_SHIFT) + MAP_GENERATION;
	args->gen_slot = region->gen.index;
	args->direction = region->direction;
	args->gen = generation_now(&region->gen);
put:
	region_put(region);
	return err;
}

void map_detach_all(struct context *ctx)
{
	struct attachment *attachment;
	unsigned long index;

	xa_for_each(&ctx->attachments, index, attachment)
		kfree(attachment);
	xa_destroy(&ctx->attachments);
}

/* The region of an mmap offset, if this descriptor has attached it and may still reach it. */
static struct region *attached(struct context *ctx, u64 offset, bool *quiet)
{
	unsigned long index = offset >> MAP_INDEX_SHIFT;
	struct attachment *attachment;
	u64 cookie = 0;

	rcu_read_lock();
	attachment = xa_load(&ctx->attachments, index);
	if (attachment) {
		cookie = attachment->cookie;
		*quiet = attachment->quiet;
	}
	rcu_read_unlock();
	return cookie ? region_get_index(ctx, index, cookie) : ERR_PTR(-EACCES);
}

static int mmap_generation(struct vm_area_struct *vma, u64 place)
{
	if (place != MAP_GENERATION || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	/* VM_IO: or MADV_DOFORK would take VM_DONTCOPY away. */
	kcoll_vma_flags(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &generation_ops;
	return 0;
}

static int blank_page(struct region *region)
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

static int mmap_region_pages(struct vm_area_struct *vma, struct region *region, u64 offset, bool quiet)
{
	u64 place = offset - region_base(region);

	if (!region->mappable)
		return -EINVAL;
	if (offset < region_base(region) || place > region->len ||
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

int map_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct context *ctx = file->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 place = offset & ((1ULL << MAP_INDEX_SHIFT) - 1);
	struct region *region;
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
	err = place & MAP_GENERATION ? mmap_generation(vma, place) : mmap_region_pages(vma, region, offset, quiet);
	if (err) {
		region_put(region);
		return err;
	}
	vma->vm_private_data = region;
	atomic_inc(&region->maps);
	return 0;
}

void map_adopt(struct file *file)
{
	file->f_mapping = &space;
}

int map_start(void)
{
	anchor = shmem_file_setup("kcoll", 0, 0);
	if (IS_ERR(anchor))
		return PTR_ERR(anchor);
	address_space_init_once(&space);
	space.a_ops = &no_operations;
	space.host = file_inode(anchor);
	return 0;
}

void map_stop(void)
{
	fput(anchor);
}
