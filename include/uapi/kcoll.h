/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * kcoll: the user interface of /dev/kcoll.
 *
 * A process registers ranges of its memory as a region and hands the region's cookie to its peers.
 * Peers copy from it, to it, between two regions, or map it. A region names addresses, not pages:
 * an access sees the memory that is there when it happens, or fails.
 *
 * Every structure starts with `size` (the caller sets it to sizeof) and `flags`. A size below that
 * of the structures here, those of version 2, is refused with EINVAL. Later versions append fields:
 * a caller built against one may pass a larger size as long as what the kernel does not know is
 * zero, else E2BIG. Unknown flags and padding that is not zero are refused with EINVAL.
 *
 * Errors that every command knows: EPERM (the descriptor was opened by another process: it is not
 * inherited), EFAULT, EINVAL, EINTR (killed), ENOMEM. Commands that name a region: ENOENT (no such
 * cookie in this domain, or unregistered; UNREGISTER: not registered with this descriptor), and all
 * of them except UNREGISTER: EACCES (another user's, or not in that direction). COPY, COPY2 and
 * BATCH: ESRCH (the owner is gone), EOPNOTSUPP (memory that cannot be pinned: see REGISTER).
 *
 * The generation of a region moves on when pages that are there are unmapped, moved, discarded,
 * swapped out, migrated or replaced (copy on write, as by the first write after a fork), or their
 * protection changes, whether or not any of them was pinned. So what was accessed in a generation
 * that still holds is what is there. It does not move on when stores change the contents of a page
 * in place, when memory appears where nothing was, nor when the kernel write-protects pages whose
 * contents stay: at a fork, or to clean them. It may move on although nothing changed, for huge
 * pages at a fork, and with automatic NUMA balancing.
 */
#ifndef _UAPI_KCOLL_H
#define _UAPI_KCOLL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KCOLL_DEVICE "/dev/kcoll"
#define KCOLL_VERSION 2

/* Feature bits of struct kcoll_info. */
#define KCOLL_FEATURE_COPY2 (1ULL << 0)
#define KCOLL_FEATURE_BATCH (1ULL << 1)
#define KCOLL_FEATURE_MAP (1ULL << 2)
#define KCOLL_FEATURE_HUGE_MAP (1ULL << 3) /* 2 MiB pages are mapped as such */
#define KCOLL_FEATURE_URING (1ULL << 4)
#define KCOLL_FEATURE_DOMAIN (1ULL << 5)
#define KCOLL_FEATURE_CROSS_USERNS (1ULL << 6) /* as the administrator has set it now */
#define KCOLL_FEATURE_QUIET (1ULL << 7)	       /* ATTACH knows KCOLL_QUIET */

struct kcoll_info {
	__u32 size;
	__u32 flags; /* none */
	__u32 version;
	__u32 max_ranges;  /* of one region */
	__u32 max_batch;   /* operations of one batch */
	__u32 max_regions; /* of one process */
	__u64 features;
	__u64 max_region_bytes;
	__u64 pinned_pages; /* of this process, in pages of the system's size */
};

#define KCOLL_JOIN_USER (1U << 0) /* JOIN: the domain of the caller's user, without a key */

/*
 * JOIN: binds this descriptor to a domain, once, before it registers or attaches anything (else
 * EBUSY; a REGISTER that failed to pin, or to store the cookie, counts). Regions of a domain can be
 * reached only through descriptors of the same domain, so that a cookie alone opens nothing. The
 * key is the secret that the members share; all zero is refused. With KCOLL_JOIN_USER it must be
 * all zero: descriptors that join with it and have the same effective user, in the same user
 * namespace, share a domain. A descriptor that joins none has one of its own. EDQUOT: see REGISTER.
 */
struct kcoll_join {
	__u32 size;
	__u32 flags; /* KCOLL_JOIN_USER */
	__u8 key[16];
};

#define KCOLL_READ (1U << 0)   /* peers may read */
#define KCOLL_WRITE (1U << 1)  /* peers may write */
#define KCOLL_EAGER (1U << 2)  /* pin now, fail if that fails */
#define KCOLL_VECTOR (1U << 3) /* addr names an array of len struct kcoll_range */

struct kcoll_range {
	__u64 addr;
	__u64 len;
};

/*
 * REGISTER: makes a region of one range or, with KCOLL_VECTOR, of several, which then count as one
 * consecutive space in the order given. Memory that can be pinned is anonymous, or of regular files
 * of tmpfs (shared memory) or hugetlbfs. With KCOLL_EAGER (or pin_mode 1) REGISTER fails where a
 * page cannot be pinned: EOPNOTSUPP: it is other memory, of a file, a device or the kernel; EFAULT:
 * nothing is mapped there; ENOMEM: a limit, others hold the page, or the process keeps changing its
 * memory. Otherwise the first two fail the accesses. EDQUOT: the process has max_regions regions,
 * or max_ranges ranges in them; or the regions, descriptors, processes and domains of the user take
 * all of the kernel memory that it may have (max_metadata_mb), on which open(), JOIN and ATTACH
 * draw, too. Limits on pinned memory fail no other command and no access: copies do without,
 * mappings become slow.
 */
struct kcoll_register {
	__u32 size;
	__u32 flags; /* KCOLL_READ, KCOLL_WRITE (at least one), KCOLL_EAGER, KCOLL_VECTOR */
	__u64 addr;
	__u64 len;	  /* bytes, or number of ranges */
	__u32 gate_limit; /* most tasks that pin in it at once; 0: as the module decides */
	__u32 reserved;
	__u64 cookie_ptr; /* where to store the cookie too, as io_uring needs it. May be 0 */
	__u64 cookie;	  /* out */
};

#define KCOLL_NOWAIT (1U << 0) /* UNREGISTER: do not wait until accesses in progress have ended */

/*
 * UNREGISTER: when it returns, no peer reads or writes the memory any more, unless KCOLL_NOWAIT. It
 * waits for peers that move bytes, or whose page tables are changed for a fault; for none that
 * waits for user space.
 */
struct kcoll_unregister {
	__u32 size;
	__u32 flags; /* KCOLL_NOWAIT */
	__u64 cookie;
};

/*
 * COPY: region to caller (KCOLL_READ) or caller to region (KCOLL_WRITE); exactly one of the two.
 * With KCOLL_VECTOR addr names an array of len struct iovec (less than 2 GiB - 4 KiB together). On
 * an error `done` says how many bytes were copied before it. ERANGE: beyond the end of the region;
 * of a `len` that no memory of the caller has, EFAULT.
 */
struct kcoll_copy {
	__u32 size;
	__u32 flags; /* KCOLL_READ or KCOLL_WRITE, KCOLL_VECTOR */
	__u64 cookie;
	__u64 offset; /* into the region */
	__u64 addr;
	__u64 len;  /* bytes, or number of iovecs */
	__u64 gen;  /* 0, or the generation that must still hold, before and after: else ESTALE */
	__u64 done; /* out: bytes copied */
};

/* COPY2: from one region to another (or within one; overlapping bytes are undefined). */
struct kcoll_copy2 {
	__u32 size;
	__u32 flags; /* none */
	__u64 src_cookie;
	__u64 src_offset;
	__u64 dst_cookie;
	__u64 dst_offset;
	__u64 len;
	__u64 src_gen; /* as in struct kcoll_copy */
	__u64 dst_gen;
	__u64 done; /* out */
};

#define KCOLL_OP_COPY 1
#define KCOLL_OP_COPY2 2

struct kcoll_op {
	__u32 op;
	__s32 result; /* out: 0 or -errno */
	union {
		struct kcoll_copy copy;
		struct kcoll_copy2 copy2;
		__u64 reserved[10];
	};
};

#define KCOLL_CONTINUE (1U << 0) /* BATCH: go on after an operation that failed */

/*
 * BATCH: operations in the order given. Stops at the first that fails, unless KCOLL_CONTINUE, and
 * when it is killed (EINTR, if none failed before). `done` counts those that were tried. Returns
 * the first error.
 */
struct kcoll_batch {
	__u32 size;
	__u32 flags; /* KCOLL_CONTINUE */
	__u64 ops;   /* array of struct kcoll_op */
	__u32 count;
	__u32 done; /* out */
};

/*
 * SYNC: waits until no mapping of the region shows pages that its owner has dropped before the
 * call. Then, if gen was given and has passed, fails with ESTALE. gen returns the generation of the
 * moment of the call in any case: what the owner drops after that has a later one.
 */
struct kcoll_sync {
	__u32 size;
	__u32 flags; /* none */
	__u64 cookie;
	__u64 gen; /* in: 0 or the generation that must still hold; out: the generation */
};

/*
 * ATTACH: what mmap() on this descriptor needs to map the region, or its generation.
 *   region:     mmap(0, len, PROT_READ [| PROT_WRITE], MAP_SHARED, fd, map_offset [+ pages])
 *               with an fd that is opened for reading and writing
 *   generation: mmap(0, PAGE, PROT_READ, MAP_SHARED, fd, gen_offset), then the __u64 at gen_slot
 *
 * map_offset keeps the region's place within a huge page. A region can be mapped if it may be read
 * and each of its ranges starts and ends on a page; map_offset is 0 otherwise. A mapping is not
 * inherited, cannot be made executable, nor writable later; it outlives its descriptor. EDQUOT: too
 * many regions that are no more are still mapped by processes of this user. After an invalidation
 * it may show the old pages for a while, usually some milliseconds: SYNC ends that, and the
 * generation says that it happened.
 *
 * A load or store that cannot be served (the region is no more, its owner has nothing mapped there
 * that can be pinned, or that it may write if the region has KCOLL_WRITE, or others hold the page
 * for a second, as direct I/O does) raises SIGBUS. A limit on pinned memory does not: other pages
 * are then dropped for it. In mappings made after an ATTACH with KCOLL_QUIET no access does: it
 * meets a page that is no memory of the owner's and that all such mappings of the region share.
 * Before that page appears the generation moves on, unless the region is no more, which its
 * generation says. The page stays until SYNC removes it; then the next access tries again. So what
 * was loaded or stored is the owner's memory if the generation is still, and not dead, the one that
 * SYNC has returned, or ATTACH before the mapping was made. A generation that was only read from
 * its page does not tell that: it may have moved while the old pages, or that page, are shown.
 */
#define KCOLL_QUIET (1U << 0) /* ATTACH: mappings through this descriptor raise no signal */

struct kcoll_attach {
	__u32 size;
	__u32 flags; /* KCOLL_QUIET */
	__u64 cookie;
	__u64 len;	  /* out: bytes of the region */
	__u64 map_offset; /* out */
	__u64 gen_offset; /* out */
	__u32 gen_slot;	  /* out */
	__u32 direction;  /* out: KCOLL_READ | KCOLL_WRITE */
	__u64 gen;	  /* out: the generation now */
};

#define KCOLL_GEN_DEAD (1ULL << 63) /* set in the generation of a region that is no more */

#define KCOLL_STATS_ALL (1U << 0) /* the sums of the domain, not only of this descriptor */
#define KCOLL_STATS_TIME \
	(1U << 1) /* from now on measure times on this descriptor (costs clock reads) */
#define KCOLL_STATS_NOTIME (1U << 2) /* stop that */

#define KCOLL_CONC_BUCKETS \
	8 /* 1, 2, 3-4, 5-8, 9-16, 17-32, 33-64, more tasks at once in one owner */

/*
 * STATS: sums since the descriptor was opened, or, with KCOLL_STATS_ALL, of all descriptors and
 * regions of its domain, since the first of those that overlap was opened. Startup is total_ns -
 * copy_ns - wait_ns; the cost of a byte copy_ns / bytes; of a page pin_ns / pin_pages; contention
 * the ratio of (lock_ns + pin_ns) / pages between buckets of concurrency. Misses are always timed,
 * hits only on request.
 */
struct kcoll_stats {
	__u32 size;
	__u32 flags; /* KCOLL_STATS_* */
	__u64 copies;
	__u64 copies_uncached; /* that did not find or leave pinned pages */
	__u64 bytes_read;
	__u64 bytes_written;
	__u64 bytes_uncached;
	__u64 timed; /* copies that were timed, and their sums: */
	__u64 timed_bytes;
	__u64 total_ns;
	__u64 copy_ns;
	__u64 wait_ns; /* gate, lock and pinning, as they delayed copies */
	__u64 pins;    /* pin sets made */
	__u64 pin_pages;
	__u64 pin_extents;
	__u64 gate_ns;
	__u64 lock_ns;
	__u64 pin_ns;
	__u64 retries; /* pins repeated because the owner changed its memory */
	__u64 pages_uncached;
	__u64 faults; /* of mappings */
	__u64 stale;  /* commands refused with ESTALE */
	__u64 invalidations;
	__u64 zaps;
	__u64 unpin_pages;
	__u64 conc_pages[KCOLL_CONC_BUCKETS];
	__u64 conc_ns[KCOLL_CONC_BUCKETS]; /* lock and pin time of those pages */
};

#define KCOLL_MAGIC 0xC7
#define KCOLL_INFO _IOWR(KCOLL_MAGIC, 0, struct kcoll_info)
#define KCOLL_JOIN _IOWR(KCOLL_MAGIC, 1, struct kcoll_join)
#define KCOLL_REGISTER _IOWR(KCOLL_MAGIC, 2, struct kcoll_register)
#define KCOLL_UNREGISTER _IOWR(KCOLL_MAGIC, 3, struct kcoll_unregister)
#define KCOLL_COPY _IOWR(KCOLL_MAGIC, 4, struct kcoll_copy)
#define KCOLL_COPY2 _IOWR(KCOLL_MAGIC, 5, struct kcoll_copy2)
#define KCOLL_BATCH _IOWR(KCOLL_MAGIC, 6, struct kcoll_batch)
#define KCOLL_SYNC _IOWR(KCOLL_MAGIC, 7, struct kcoll_sync)
#define KCOLL_ATTACH _IOWR(KCOLL_MAGIC, 8, struct kcoll_attach)
#define KCOLL_STATS _IOWR(KCOLL_MAGIC, 9, struct kcoll_stats)

/*
 * io_uring: IORING_OP_URING_CMD on a ring with IORING_SETUP_SQE128; cmd_op is KCOLL_COPY,
 * KCOLL_COPY2 or KCOLL_REGISTER and the command area holds the structure itself (at most 80 bytes).
 * The result is the number of bytes copied (2 GiB - 4 KiB at most), 0 for REGISTER, or -errno. Give
 * IOSQE_ASYNC for large copies: the kernel runs all others that have to wait on one worker.
 */

#endif /* _UAPI_KCOLL_H */
