/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_NOTIFY_H
#define _KCOLL_NOTIFY_H

struct segment;

int notify_insert(struct segment *segment);
void notify_remove(struct segment *segment);

#endif
