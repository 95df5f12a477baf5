/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints kcoll:*. Times are nanoseconds, conc is how many tasks were pinning in the same
 * owner. A region is named by the lower half of its cookie: enough to tell regions apart, too
 * little to use it.
 *
 * startup = total - copy - wait; per byte = copy / len; per page = pin / pages; contention =
 * (lock + pin) / pages as a ratio between values of conc.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kcoll

#if !defined(_KCOLL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KCOLL_TRACE_H

#include <linux/tracepoint.h>

#include "pinset.h"

TRACE_EVENT(kcoll_reg,
	TP_PROTO(u64 cookie, u64 len, u32 ranges, u32 flags),
	TP_ARGS(cookie, len, ranges, flags),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u64, len)
		__field(u32, ranges)
		__field(u32, flags)
	),
	TP_fast_assign(
		__entry->region = cookie;
		__entry->len = len;
		__entry->ranges = ranges;
		__entry->flags = flags;
	),
	TP_printk("region=%08x len=%llu ranges=%u flags=%#x",
		  __entry->region, __entry->len, __entry->ranges, __entry->flags)
);

TRACE_EVENT(kcoll_unreg,
	TP_PROTO(u64 cookie, u64 len),
	TP_ARGS(cookie, len),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u64, len)
	),
	TP_fast_assign(
		__entry->region = cookie;
		__entry->len = len;
	),
	TP_printk("region=%08x len=%llu",
		  __entry->region, __entry->len)
);

TRACE_EVENT(kcoll_pin,
	TP_PROTO(u64 cookie, const struct kcoll_pin_times *times, bool remote),
	TP_ARGS(cookie, times, remote),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, pages)
		__field(u32, extents)
		__field(u64, gate_ns)
		__field(u64, lock_ns)
		__field(u64, pin_ns)
		__field(u32, conc)
		__field(u32, retries)
		__field(bool, remote)
	),
	TP_fast_assign(
		__entry->region = cookie;
		__entry->pages = times->pages;
		__entry->extents = times->extents;
		__entry->gate_ns = times->gate_ns;
		__entry->lock_ns = times->lock_ns;
		__entry->pin_ns = times->pin_ns;
		__entry->conc = times->conc;
		__entry->retries = times->retries;
		__entry->remote = remote;
	),
	TP_printk("region=%08x pages=%u extents=%u gate_ns=%llu lock_ns=%llu pin_ns=%llu "
		  "conc=%u remote=%d retries=%u",
		  __entry->region, __entry->pages, __entry->extents, __entry->gate_ns,
		  __entry->lock_ns, __entry->pin_ns, __entry->conc, __entry->remote,
		  __entry->retries)
);

TRACE_EVENT(kcoll_unpin,
	TP_PROTO(u64 cookie, u32 pages, u32 extents),
	TP_ARGS(cookie, pages, extents),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, pages)
		__field(u32, extents)
	),
	TP_fast_assign(
		__entry->region = cookie;
		__entry->pages = pages;
		__entry->extents = extents;
	),
	TP_printk("region=%08x pages=%u extents=%u",
		  __entry->region, __entry->pages, __entry->extents)
);

TRACE_EVENT(kcoll_copy,
	TP_PROTO(u64 cookie, u64 len, bool write, bool cached, u32 conc, u64 total_ns,
		 u64 copy_ns, u64 pin_ns, int ret),
	TP_ARGS(cookie, len, write, cached, conc, total_ns, copy_ns, pin_ns, ret),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u64, len)
		__field(bool, write)
		__field(bool, cached)
		__field(u32, conc)
		__field(u64, total_ns)
		__field(u64, copy_ns)
		__field(u64, pin_ns)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->region = cookie;
		__entry->len = len;
		__entry->write = write;
		__entry->cached = cached;
		__entry->conc = conc;
		__entry->total_ns = total_ns;
		__entry->copy_ns = copy_ns;
		__entry->pin_ns = pin_ns;
		__entry->ret = ret;
	),
	TP_printk("region=%08x len=%llu dir=%s cached=%d conc=%u total_ns=%llu "
		  "copy_ns=%llu pin_ns=%llu ret=%d",
		  __entry->region, __entry->len, __entry->write ? "write" : "read",
		  __entry->cached, __entry->conc, __entry->total_ns, __entry->copy_ns,
		  __entry->pin_ns, __entry->ret)
);

TRACE_EVENT(kcoll_inval,
	TP_PROTO(u64 cookie, int event, unsigned long start, unsigned long end, u32 dropped),
	TP_ARGS(cookie, event, start, end, dropped),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(int, event)
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(u32, dropped)
	),
	TP_fast_assign(
		__entry->region = cookie;
		__entry->event = event;
		__entry->start = start;
		__entry->end = end;
		__entry->dropped = dropped;
	),
	TP_printk("region=%08x event=%d start=%#lx end=%#lx dropped=%u",
		  __entry->region, __entry->event, __entry->start, __entry->end,
		  __entry->dropped)
);

TRACE_EVENT(kcoll_fault,
	TP_PROTO(u64 cookie, unsigned long va, bool huge),
	TP_ARGS(cookie, va, huge),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(unsigned long, va)
		__field(bool, huge)
	),
	TP_fast_assign(
		__entry->region = cookie;
		__entry->va = va;
		__entry->huge = huge;
	),
	TP_printk("region=%08x va=%#lx huge=%d",
		  __entry->region, __entry->va, __entry->huge)
);

TRACE_EVENT(kcoll_zap,
	TP_PROTO(u64 cookie, u32 sets),
	TP_ARGS(cookie, sets),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, sets)
	),
	TP_fast_assign(
		__entry->region = cookie;
		__entry->sets = sets;
	),
	TP_printk("region=%08x sets=%u",
		  __entry->region, __entry->sets)
);

TRACE_EVENT(kcoll_gate,
	TP_PROTO(u32 active, u32 limit),
	TP_ARGS(active, limit),
	TP_STRUCT__entry(
		__field(u32, active)
		__field(u32, limit)
	),
	TP_fast_assign(
		__entry->active = active;
		__entry->limit = limit;
	),
	TP_printk("waits: active=%u limit=%u",
		  __entry->active, __entry->limit)
);

TRACE_EVENT(kcoll_uring,
	TP_PROTO(u32 op, bool inline_now, s64 ret),
	TP_ARGS(op, inline_now, ret),
	TP_STRUCT__entry(
		__field(u32, op)
		__field(bool, inline_now)
		__field(s64, ret)
	),
	TP_fast_assign(
		__entry->op = op;
		__entry->inline_now = inline_now;
		__entry->ret = ret;
	),
	TP_printk("op=%#x inline=%d ret=%lld",
		  __entry->op, __entry->inline_now, __entry->ret)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
