/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_PRESSURE_H
#define _KCOLL_PRESSURE_H

#include <linux/types.h>

struct kcoll_owner;

struct kcoll_owner *kcoll_pressure_owner_alloc(void);
void kcoll_pressure_owner_free(struct kcoll_owner *owner);
void kcoll_pressure_owner_add(struct kcoll_owner *owner);
void kcoll_pressure_owner_remove(struct kcoll_owner *owner);
bool kcoll_pressure_recent(const struct kcoll_owner *owner);

int kcoll_pressure_start(void);
void kcoll_pressure_stop(void);

#endif
