// SPDX-License-Identifier: GPL-2.0-only
/* Module entry and exit, and the parameters. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/workqueue.h>

#include "account.h"
#include "device.h"
#include "params.h"
#include "pressure.h"
#include "region.h"
#include "stats.h"

/* pin_mode and memlock: one of three. */
static int mode_set(const char *value, const struct kernel_param *param)
{
	return param_set_uint_minmax(value, param, 0, 2);
}

static const struct kernel_param_ops mode_ops = {
	.set = mode_set,
	.get = param_get_uint,
};

uint kcoll_param_pin_mode = PIN_LAZY;
module_param_cb(pin_mode, &mode_ops, &kcoll_param_pin_mode, 0644);
MODULE_PARM_DESC(pin_mode,
		 "0: pin a region's pages at first use, 1: when it is registered, 2: not by copies "
		 "(default 0; from the next access, what is pinned is used in any case)");

uint kcoll_param_gate_limit;
module_param_named(gate_limit, kcoll_param_gate_limit, uint, 0644);
MODULE_PARM_DESC(gate_limit,
		 "most tasks that pin pages of one process at once, unless a region says "
		 "otherwise; 0: adapt to the time spent waiting for its lock (default 0; from "
		 "the next arrival)");

uint kcoll_param_uncached_max = 4096;
module_param_named(uncached_max, kcoll_param_uncached_max, uint, 0644);
MODULE_PARM_DESC(uncached_max,
		 "copies of at most so many bytes do not pin a window for later, the first 8 "
		 "times (default 4096; from the next copy)");

uint kcoll_param_uring_inline_max = 65536;
module_param_named(uring_inline_max, kcoll_param_uring_inline_max, uint, 0644);
MODULE_PARM_DESC(uring_inline_max,
		 "io_uring copies of at most so many bytes of pinned pages run at submission "
		 "(default 65536; from the next command)");

bool kcoll_param_huge_map = true;
module_param_named(huge_map, kcoll_param_huge_map, bool, 0644);
MODULE_PARM_DESC(huge_map,
		 "map 2 MiB pages as such where the kernel can (default Y; from the next fault, "
		 "what is mapped stays as it is)");

uint kcoll_param_unpin_delay_ms = 20;
module_param_named(unpin_delay_ms, kcoll_param_unpin_delay_ms, uint, 0644);
MODULE_PARM_DESC(unpin_delay_ms,
		 "how long pages that the owner dropped stay pinned, so that a fork in progress "
		 "is not disturbed (default 20; for pages dropped from now on)");

uint kcoll_param_memlock = MEMLOCK_ENFORCE;
module_param_cb(memlock, &mode_ops, &kcoll_param_memlock, 0644);
MODULE_PARM_DESC(memlock,
		 "RLIMIT_MEMLOCK of the owner; 0: enforce, 1: count only, 2: ignore (default 0; "
		 "from the next pin, what is pinned keeps its rule)");

ulong kcoll_param_max_pinned_mb;
module_param_named(max_pinned_mb, kcoll_param_max_pinned_mb, ulong, 0644);
MODULE_PARM_DESC(max_pinned_mb,
		 "most memory pinned by all processes together, in MiB, of which each user has "
		 "an equal share when it is short; 0: half of the machine's (default 0; from the"
		 " next pin)");

uint kcoll_param_max_regions = 4096;
module_param_named(max_regions, kcoll_param_max_regions, uint, 0644);
MODULE_PARM_DESC(max_regions,
		 "most regions of one process (default 4096; from the next registration)");

uint kcoll_param_max_ranges = 65536;
module_param_named(max_ranges, kcoll_param_max_ranges, uint, 0644);
MODULE_PARM_DESC(max_ranges,
		 "most separate ranges of memory in all regions of one process (default 65536; "
		 "from the next registration)");

ulong kcoll_param_max_metadata_mb;
module_param_named(max_metadata_mb, kcoll_param_max_metadata_mb, ulong, 0644);
MODULE_PARM_DESC(max_metadata_mb,
		 "most kernel memory that regions, descriptors, processes and domains of a user "
		 "take, in MiB; 0: 1/64 of the machine's (default 0; from the next of them)");

bool kcoll_param_cross_userns;
module_param_named(cross_userns, kcoll_param_cross_userns, bool, 0644);
MODULE_PARM_DESC(cross_userns,
		 "other users and user namespaces may access regions of a domain whose key they "
		 "know (default N; from the next command)");

struct workqueue_struct *kcoll_wq;

static int __init kcoll_init(void)
{
	int err;

	kcoll_wq = alloc_workqueue("kcoll", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kcoll_wq)
		return -ENOMEM;
	kcoll_stats_start();
	err = kcoll_pressure_start();
	if (err)
		goto stop_stats;
	err = kcoll_device_start();
	if (err)
		goto stop_pressure;
	pr_info("version %s loaded\n", THIS_MODULE->version);
	return 0;

stop_pressure:
	kcoll_pressure_stop();
stop_stats:
	kcoll_stats_stop();
	destroy_workqueue(kcoll_wq);
	return err;
}

/*
 * No descriptor and no mapping is left, or the module could not go; pin sets may still wait for
 * their delay.
 */
static void __exit kcoll_exit(void)
{
	kcoll_device_stop();
	kcoll_region_wait_none();
	/* The last callbacks of percpu_refs, and of kfree_rcu(), which may queue work. */
	rcu_barrier();
	kcoll_pressure_stop();
	kcoll_account_stop();
	destroy_workqueue(kcoll_wq);
	kcoll_stats_stop();
	pr_info("unloaded\n");
}

module_init(kcoll_init);
module_exit(kcoll_exit);

MODULE_DESCRIPTION("Contention-aware copies and mappings between the processes of a node");
MODULE_AUTHOR("The libcoll authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.3.0");
