// SPDX-License-Identifier: GPL-2.0
/* Module entry and exit, and the parameters. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/workqueue.h>

#include "account.h"
#include "device.h"
#include "map.h"
#include "params.h"
#include "pinset.h"
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

uint param_pin_mode = PIN_LAZY;
module_param_cb(pin_mode, &mode_ops, &param_pin_mode, 0644);
MODULE_PARM_DESC(pin_mode, "0: pin a region's pages at first use, 1: when it is registered, 2: never (default 0; from the next access, what is pinned is used in any case)");

uint param_gate_limit;
module_param_named(gate_limit, param_gate_limit, uint, 0644);
MODULE_PARM_DESC(gate_limit, "most tasks that pin pages of one process at once, unless a region says otherwise; 0: adapt to the time spent waiting for its lock (default 0; from the next arrival)");

uint param_uncached_max = 4096;
module_param_named(uncached_max, param_uncached_max, uint, 0644);
MODULE_PARM_DESC(uncached_max, "copies of at most so many bytes do not pin a window for later, the first 8 times (default 4096; from the next copy)");

uint param_uring_inline_max = 65536;
module_param_named(uring_inline_max, param_uring_inline_max, uint, 0644);
MODULE_PARM_DESC(uring_inline_max, "io_uring copies of at most so many bytes of pinned pages run at submission (default 65536; from the next command)");

bool param_huge_map = true;
module_param_named(huge_map, param_huge_map, bool, 0644);
MODULE_PARM_DESC(huge_map, "map 2 MiB pages as such where the kernel can (default Y; from the next fault, what is mapped stays as it is)");

uint param_unpin_delay_ms = 20;
module_param_named(unpin_delay_ms, param_unpin_delay_ms, uint, 0644);
MODULE_PARM_DESC(unpin_delay_ms, "how long pages that the owner dropped stay pinned, so that a fork in progress is not disturbed (default 20; for pages dropped from now on)");

uint param_memlock = MEMLOCK_ENFORCE;
module_param_cb(memlock, &mode_ops, &param_memlock, 0644);
MODULE_PARM_DESC(memlock, "RLIMIT_MEMLOCK of the owner; 0: enforce, 1: count only, 2: ignore (default 0; from the next pin, what is pinned keeps its rule)");

ulong param_max_pinned_mb;
module_param_named(max_pinned_mb, param_max_pinned_mb, ulong, 0644);
MODULE_PARM_DESC(max_pinned_mb, "most memory pinned by all processes together, in MiB, of which each user has an equal share when it is short; 0: half of the machine's (default 0; from the next pin)");

uint param_max_regions = 4096;
module_param_named(max_regions, param_max_regions, uint, 0644);
MODULE_PARM_DESC(max_regions, "most regions of one process (default 4096; from the next registration)");

uint param_max_ranges = 65536;
module_param_named(max_ranges, param_max_ranges, uint, 0644);
MODULE_PARM_DESC(max_ranges, "most separate ranges of memory in all regions of one process (default 65536; from the next registration)");

ulong param_max_metadata_mb;
module_param_named(max_metadata_mb, param_max_metadata_mb, ulong, 0644);
MODULE_PARM_DESC(max_metadata_mb, "most kernel memory that the regions of one user take, in MiB; 0: 1/64 of the machine's (default 0; from the next registration)");

bool param_cross_userns;
module_param_named(cross_userns, param_cross_userns, bool, 0644);
MODULE_PARM_DESC(cross_userns, "other users and user namespaces may access regions of a domain whose key they know (default N; from the next command)");

struct workqueue_struct *kcoll_wq;

static int __init kcoll_init(void)
{
	int err;

	kcoll_wq = alloc_workqueue("kcoll", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kcoll_wq)
		return -ENOMEM;
	stats_start();
	err = map_start();
	if (err)
		goto stop_stats;
	err = account_start();
	if (err)
		goto stop_map;
	err = device_start();
	if (err)
		goto stop_account;
	pr_info("version %s loaded\n", THIS_MODULE->version);
	return 0;

stop_account:
	account_stop();
stop_map:
	map_stop();
stop_stats:
	stats_stop();
	destroy_workqueue(kcoll_wq);
	return err;
}

/* No descriptor and no mapping is left, or the module could not go; pin sets may still wait for their delay. */
static void __exit kcoll_exit(void)
{
	device_stop();
	region_wait_none();
	/* The last callbacks of percpu_refs, and of kfree_rcu(), which may queue work. */
	rcu_barrier();
	pinset_stop();
	account_stop();
	destroy_workqueue(kcoll_wq);
	map_stop();
	stats_stop();
	pr_info("unloaded\n");
}

module_init(kcoll_init);
module_exit(kcoll_exit);

MODULE_DESCRIPTION("Contention-aware copies and mappings between the processes of a node");
MODULE_AUTHOR("The libcoll authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
