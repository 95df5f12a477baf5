/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_PAYER_H
#define _KCOLL_PAYER_H

struct kcoll_region;
struct kcoll_user;

int kcoll_payer_map(struct kcoll_region *region, struct kcoll_user *user);
void kcoll_payer_unmap(struct kcoll_region *region);
void kcoll_payer_settle(struct kcoll_region *region);
void kcoll_payer_done(struct kcoll_region *region);

#endif
