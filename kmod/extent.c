// SPDX-License-Identifier: GPL-2.0-only
/* Extents: pages of a pin set that follow each other in physical memory. */
#include <linux/mm.h>

#include "pinset.h"

/* Whether a page, not the first, belongs to the extent of the one before it. */
static bool follows(struct page **pages, unsigned int i)
{
	return pages[i] == pages[i - 1] + 1 &&
	       page_to_pfn(pages[i]) == page_to_pfn(pages[i - 1]) + 1;
}

/**
 * kcoll_extent_count() - of how many extents pages consist
 * @pages: the pages
 * @n: how many, not 0
 *
 * Return: their number.
 */
unsigned int kcoll_extent_count(struct page **pages, unsigned int n)
{
	unsigned int i, extents = 1;

	for (i = 1; i < n; i++)
		extents += !follows(pages, i);
	return extents;
}

/**
 * kcoll_extent_fill() - notes the extents of a set that is not published yet
 * @set: the set, with room for them
 * @pages: its pages
 */
void kcoll_extent_fill(struct kcoll_pinset *set, struct page **pages)
{
	struct kcoll_extent *extent = set->extents;
	unsigned int i;

	*extent = (struct kcoll_extent){ .page = pages[0], .n = 1 };
	for (i = 1; i < set->pages; i++) {
		if (follows(pages, i))
			extent->n++;
		else
			*++extent = (struct kcoll_extent){ .page = pages[i], .first = i, .n = 1 };
	}
}

/**
 * kcoll_pinset_extent() - the extent of a page
 * @set: the pin set
 * @page: its index, less than set->pages
 *
 * Return: the extent.
 */
struct kcoll_extent *kcoll_pinset_extent(struct kcoll_pinset *set, u32 page)
{
	u32 low = 0, high = set->n;

	if (set->n == set->pages)
		return &set->extents[page];
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (set->extents[middle].first <= page)
			low = middle;
		else
			high = middle;
	}
	return &set->extents[low];
}
