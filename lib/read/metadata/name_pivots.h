/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/name_pivots: find a name among all names of an image, as if they were sorted.
 *
 * Every so many names one is a pivot, whose first bytes are kept when it is first looked
 * at: the search comes near its end without looking at the names themselves, each of
 * which lies elsewhere in memory. What is left lies close together and is fetched at
 * once.
 *
 * Nobody has checked that the names are sorted, so what is found is a name for sure, but
 * what is not found may be there all the same.
 */
#ifndef DW_READ_METADATA_NAME_PIVOTS_H
#define DW_READ_METADATA_NAME_PIVOTS_H

#include "read/metadata/view.h"

/* The number of a name: 1. Where there is none: 0, and the number of the first that is
 * larger, perhaps that behind the last. Or an error: then a name could not be read. */
int dw_pivots_find(const struct view *view, const struct key *key, uint64_t *number_out);

/* The names turned out not to be sorted. */
static inline void dw_pivots_give_up(const struct view *view)
{
	atomic_store_explicit(&((struct view *)view)->names_are_mixed, true,
			      memory_order_relaxed);
}

static inline bool dw_pivots_are_usable(const struct view *view)
{
	return !atomic_load_explicit(&((struct view *)view)->names_are_mixed,
				     memory_order_relaxed);
}

#endif
