/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_NOTIFY_H
#define _KCOLL_NOTIFY_H

struct region;

int notify_start(struct region *region);
void notify_stop(struct region *region);

#endif
