/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module's parameters; main.c declares them with their help text. Read with READ_ONCE: they
 * change at run time.
 */
#ifndef _KCOLL_PARAMS_H
#define _KCOLL_PARAMS_H

#include <linux/types.h>

enum kcoll_pin_mode { PIN_LAZY, PIN_EAGER, PIN_NEVER };
enum kcoll_memlock_mode { MEMLOCK_ENFORCE, MEMLOCK_ACCOUNT, MEMLOCK_OFF };

extern uint kcoll_param_pin_mode;
extern uint kcoll_param_gate_limit;
extern uint kcoll_param_uncached_max;
extern uint kcoll_param_uring_inline_max;
extern bool kcoll_param_huge_map;
extern uint kcoll_param_unpin_delay_ms;
extern uint kcoll_param_memlock;
extern ulong kcoll_param_max_pinned_mb;
extern uint kcoll_param_max_regions;
extern uint kcoll_param_max_ranges;
extern ulong kcoll_param_max_metadata_mb;
extern bool kcoll_param_cross_userns;

#endif
