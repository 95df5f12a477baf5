// SPDX-License-Identifier: GPL-2.0-only
/* Pinning: which memory may be, and how: through the owner's gate, under its mmap_lock. */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/magic.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "pin.h"
#include "pinset.h"

/*
 * Memory whose pages may be held: anonymous, shared memory, huge pages. File systems would have to
 * know of our writes.
 */
static bool vma_allowed(const struct vm_area_struct *vma)
{
	const struct inode *inode;

	if (vma->vm_flags & (VM_IO | VM_PFNMAP))
		return false;
	if (vma_is_anonymous((struct vm_area_struct *)vma))
		return true;
	if (!vma->vm_file)
		return false; /* the kernel's, such as [vdso] */
	/* Not the memory of a device whose node is in a tmpfs, as in /dev. */
	inode = file_inode(vma->vm_file);
	return S_ISREG(inode->i_mode) &&
	       (inode->i_sb->s_magic == TMPFS_MAGIC || inode->i_sb->s_magic == HUGETLBFS_MAGIC);
}

/*
 * REQUIRES: mmap_lock. Of n pages from start, how many may be pinned before the first that may not;
 * an errno if none.
 */
static long usable(struct mm_struct *mm, unsigned long start, unsigned long n)
{
	unsigned long at = start, end = start + (n << PAGE_SHIFT);
	int err = 0;

	while (at < end) {
		struct vm_area_struct *vma = find_vma(mm, at);

		if (!vma || vma->vm_start > at)
			err = -EFAULT;
		else if (!vma_allowed(vma))
			err = -EOPNOTSUPP;
		if (err)
			return at > start ? (long)((at - start) >> PAGE_SHIFT) : err;
		at = vma->vm_end;
	}
	return n;
}

/**
 * kcoll_pin_pages() - pins pages of an owner, through its gate
 * @region: the region
 * @start: the first page's address, the owner's
 * @n: how many
 * @flags: FOLL_...
 * @pages: out: the pages
 * @times: what it cost is added
 *
 * Return: how many, which may be fewer if one cannot be pinned; -ESRCH: the owner is gone; -EINTR:
 * killed; -EFAULT, -EOPNOTSUPP: what is mapped at start, if anything; -ENOMEM; with FOLL_NOWAIT
 * -EBUSY: the page at start has to be waited for.
 */
long kcoll_pin_pages(struct kcoll_region *region, unsigned long start, unsigned int n,
		     unsigned int flags, struct page **pages, struct kcoll_pin_times *times)
{
	struct kcoll_owner *owner = region->owner;
	struct mm_struct *mm = owner->mm;
	u64 t0 = ktime_get_ns(), t1, t2 = 0, t3 = 0;
	long pinned = 0;
	int locked = 1, err;

	err = kcoll_gate_enter(&owner->gate, region->gate_limit, &times->conc);
	t1 = ktime_get_ns();
	times->gate_ns += t1 - t0;
	if (err)
		return err;
	if (!mmget_not_zero(mm)) {
		kcoll_gate_leave(&owner->gate, 0, 0);
		return -ESRCH;
	}
	err = mmap_read_lock_killable(mm);
	t2 = ktime_get_ns();
	if (!err) {
		pinned = usable(mm, start, n);
		if (pinned < 0)
			err = pinned;
		else
			pinned = kcoll_pin_remote(mm, start, pinned, flags, pages, &locked);
		if (locked)
			mmap_read_unlock(mm);
	}
	t3 = ktime_get_ns();
	kcoll_gate_leave(&owner->gate, t2 - t1, t3 - t2);
	/* May be the last reference, and then tears the address space down: not in here. */
	mmput_async(mm);
	times->lock_ns += t2 - t1;
	times->pin_ns += t3 - t2;
	if (err)
		return err;
	if (pinned == n)
		return n;
	if (fatal_signal_pending(current)) {
		if (pinned > 0)
			unpin_user_pages(pages, pinned);
		return -EINTR;
	}
	if (pinned > 0)
		return pinned;
	if (!pinned && (flags & FOLL_NOWAIT))
		return -EBUSY;
	return pinned == -ENOMEM ? -ENOMEM : -EFAULT;
}
