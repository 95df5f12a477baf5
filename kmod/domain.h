/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_DOMAIN_H
#define _KCOLL_DOMAIN_H

#include <linux/types.h>

struct domain;

struct domain *domain_join(const u8 key[16]);
struct domain *domain_get(struct domain *domain);
void domain_put(struct domain *domain);

#endif
