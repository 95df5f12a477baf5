/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_DOMAIN_H
#define _KCOLL_DOMAIN_H

#include <linux/types.h>

struct kcoll_domain;

struct kcoll_domain *kcoll_domain_join(const u8 key[16]);
struct kcoll_domain *kcoll_domain_get(struct kcoll_domain *domain);
void kcoll_domain_put(struct kcoll_domain *domain);

#endif
