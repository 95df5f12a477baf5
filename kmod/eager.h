/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_EAGER_H
#define _KCOLL_EAGER_H

struct kcoll_counters;
struct kcoll_region;

int kcoll_eager_pin(struct kcoll_region *region, struct kcoll_counters *stats);

#endif
