/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_PIN_H
#define _KCOLL_PIN_H

struct kcoll_pin_times;
struct kcoll_region;
struct page;

long kcoll_pin_pages(struct kcoll_region *region, unsigned long start, unsigned int n,
		     unsigned int flags, struct page **pages, struct kcoll_pin_times *times);

#endif
