/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between kernels. Kbuild looks for each in the headers and says KCOLL_HAVE_...:
 * vendor kernels carry backports, so their version numbers say nothing.
 */
#ifndef _KCOLL_COMPAT_H
#define _KCOLL_COMPAT_H

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/list_lru.h>
#include <linux/mm.h>
#ifdef KCOLL_HAVE_PFN_T
#include <linux/pfn_t.h>
#endif
#include <linux/shrinker.h>
#include <linux/slab.h>

#ifdef KCOLL_HAVE_IO_URING_CMD_H
#include <linux/io_uring/cmd.h>
#else
#include <linux/io_uring.h>
#endif

#ifdef KCOLL_HAVE_CRYPTO_UTILS
#include <crypto/utils.h>
#else
#include <crypto/algapi.h>
#endif

/**
 * kcoll_pin_remote() - pins pages of an address space
 * @mm: the address space
 * @start: the first page's address
 * @n: how many pages
 * @flags: FOLL_...
 * @pages: out: the pages
 * @locked: in: true; out: whether the caller still holds the mmap_lock
 *
 * Where the kernel's function has a vmas argument, it also refuses to drop the lock for long-term
 * pins.
 *
 * Context: mmap_lock of mm, for reading.
 * Return: how many pages were pinned, or an errno.
 */
static inline long kcoll_pin_remote(struct mm_struct *mm, unsigned long start, unsigned long n,
				    unsigned int flags, struct page **pages, int *locked)
{
#ifdef KCOLL_HAVE_PIN_VMAS
	return pin_user_pages_remote(mm, start, n, flags, pages, NULL,
				     flags & FOLL_LONGTERM ? NULL : locked);
#else
	return pin_user_pages_remote(mm, start, n, flags, pages, locked);
#endif
}

/**
 * kcoll_vma_flags() - changes the flags of an area of memory
 * @vma: the area
 * @set: flags it gets
 * @clear: flags it loses
 *
 * Context: mmap_lock for writing, or an area that is not published yet.
 */
static inline void kcoll_vma_flags(struct vm_area_struct *vma, unsigned long set,
				   unsigned long clear)
{
#ifdef KCOLL_HAVE_VM_FLAGS_SET
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags & ~clear) | set;
#endif
}

/**
 * kcoll_release_fault_lock() - drops the lock under which a fault handler was called
 * @vmf: the fault; the handler returns VM_FAULT_RETRY then
 */
static inline void kcoll_release_fault_lock(struct vm_fault *vmf)
{
#ifdef KCOLL_HAVE_RELEASE_FAULT_LOCK
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

/*
 * Mapping 2 MiB as one: only where the page tables can mark such an entry as special, and where it
 * covers 2 MiB, as windows do. With pages of 16 KiB it would cover 32 MiB.
 */
#if defined(CONFIG_ARCH_SUPPORTS_PMD_PFNMAP) && defined(CONFIG_TRANSPARENT_HUGEPAGE) && \
	PMD_SHIFT == 21
#define KCOLL_HUGE_MAP 1
/**
 * kcoll_insert_huge() - maps 2 MiB as one
 * @vmf: the fault
 * @pfn: of their first page
 *
 * Return: VM_FAULT_NOPAGE or an error.
 */
static inline vm_fault_t kcoll_insert_huge(struct vm_fault *vmf, unsigned long pfn)
{
#ifdef KCOLL_HAVE_PFN_T
	return vmf_insert_pfn_pmd(vmf, __pfn_to_pfn_t(pfn, PFN_DEV), vmf->flags & FAULT_FLAG_WRITE);
#else
	return vmf_insert_pfn_pmd(vmf, pfn, vmf->flags & FAULT_FLAG_WRITE);
#endif
}
#else
#define KCOLL_HUGE_MAP 0
#endif

/* The 80 bytes of a command. */
struct kcoll_uring_bytes {
	u8 bytes[80];
};

/**
 * kcoll_uring_payload() - where the bytes of a command are
 * @cmd: the command
 *
 * Return: 80 bytes, which the submitter may change at any time.
 */
static inline const void *kcoll_uring_payload(const struct io_uring_cmd *cmd)
{
#if defined(KCOLL_HAVE_URING_SQE128_CMD)
	return io_uring_sqe128_cmd(cmd->sqe, struct kcoll_uring_bytes);
#elif defined(KCOLL_HAVE_URING_SQE_CMD)
	return io_uring_sqe_cmd(cmd->sqe);
#else
	return cmd->cmd;
#endif
}

/**
 * kcoll_uring_done() - completes a command
 * @cmd: the command
 * @ret: its result
 * @issue_flags: what io_uring gave with it
 */
static inline void kcoll_uring_done(struct io_uring_cmd *cmd, ssize_t ret, unsigned int issue_flags)
{
#ifdef KCOLL_HAVE_URING_DONE32
	io_uring_cmd_done(cmd, ret, issue_flags);
#else
	io_uring_cmd_done(cmd, ret, 0, issue_flags);
#endif
}

typedef unsigned long (*kcoll_shrink_fn)(struct shrinker *shrinker, struct shrink_control *sc);

/**
 * kcoll_shrinker_start() - registers a shrinker that memory cgroups ask, too
 * @name: for debugfs
 * @count: how much there is to free; may be called before this returns, even if it fails
 * @scan: frees some
 * @lru: out: an empty list, to be destroyed after the shrinker; what is in it is who is asked
 *
 * Return: the shrinker, or ERR_PTR.
 */
static inline struct shrinker *kcoll_shrinker_start(const char *name, kcoll_shrink_fn count,
						    kcoll_shrink_fn scan, struct list_lru *lru)
{
	struct shrinker *shrinker;
	int err;
#ifdef KCOLL_HAVE_SHRINKER_ALLOC
	shrinker = shrinker_alloc(SHRINKER_MEMCG_AWARE, "%s", name);
	if (!shrinker)
		return ERR_PTR(-ENOMEM);
	err = list_lru_init_memcg(lru, shrinker);
	if (err) {
		shrinker_free(shrinker);
		return ERR_PTR(err);
	}
#else
	shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);
	if (!shrinker)
		return ERR_PTR(-ENOMEM);
	shrinker->flags = SHRINKER_MEMCG_AWARE;
#endif
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
#ifdef KCOLL_HAVE_SHRINKER_ALLOC
	shrinker_register(shrinker);
#else
	err = register_shrinker(shrinker, "%s", name);
	if (err)
		goto free_shrinker;
	err = list_lru_init_memcg(lru, shrinker); /* needs its number */
	if (err)
		goto unregister;
#endif
	return shrinker;
#ifndef KCOLL_HAVE_SHRINKER_ALLOC
unregister:
	unregister_shrinker(shrinker);
free_shrinker:
	kfree(shrinker);
	return ERR_PTR(err);
#endif
}

/**
 * kcoll_list_lru_add() - adds an object to the list of its memory cgroup
 * @lru: the list
 * @link: in an object from kmem_cache_alloc_lru()
 */
static inline void kcoll_list_lru_add(struct list_lru *lru, struct list_head *link)
{
#ifdef KCOLL_HAVE_LIST_LRU_OBJ
	list_lru_add_obj(lru, link);
#else
	list_lru_add(lru, link);
#endif
}

/**
 * kcoll_list_lru_del() - takes it out
 * @lru: the list
 * @link: in the object
 */
static inline void kcoll_list_lru_del(struct list_lru *lru, struct list_head *link)
{
#ifdef KCOLL_HAVE_LIST_LRU_OBJ
	list_lru_del_obj(lru, link);
#else
	list_lru_del(lru, link);
#endif
}

/* What a list's walker gets between the list and its argument. */
#ifdef KCOLL_HAVE_LIST_LRU_LOCK
#define KCOLL_LIST_LRU_LOCK spinlock_t *lock,
#else
#define KCOLL_LIST_LRU_LOCK
#endif

/**
 * kcoll_has_capability() - whether a task has a capability in the initial user namespace
 * @task: the task
 * @cap: CAP_...
 *
 * As has_capability_noaudit(), which Linux 7.3 does not export.
 *
 * Return: whether it is effective.
 */
static inline bool kcoll_has_capability(struct task_struct *task, int cap)
{
	const struct cred *cred = get_task_cred(task);
	bool has = cred->user_ns == &init_user_ns && cap_raised(cred->cap_effective, cap);

	put_cred(cred);
	return has;
}

/**
 * kcoll_shrinker_stop() - frees a shrinker
 * @shrinker: from kcoll_shrinker_start()
 *
 * Context: may sleep.
 */
static inline void kcoll_shrinker_stop(struct shrinker *shrinker)
{
#ifdef KCOLL_HAVE_SHRINKER_ALLOC
	shrinker_free(shrinker);
#else
	unregister_shrinker(shrinker);
	kfree(shrinker);
#endif
}

#endif
