/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_NOTIFY_H
#define _KCOLL_NOTIFY_H

struct kcoll_region;

int kcoll_notify_start(struct kcoll_region *region);
void kcoll_notify_stop(struct kcoll_region *region);

#endif
