/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/name_pivots: binary search among all names of an image, assuming they
 * are sorted.
 *
 * Every 32nd name (or fewer) is a pivot, whose first bytes are kept after its first use:
 * the search narrows down without touching other names, each of which would be a cache
 * miss. The remaining names are adjacent in memory and prefetched together.
 *
 * It is not checked that the names are sorted: a match is certain, a miss is not.
 */
#ifndef DW_READ_METADATA_NAME_PIVOTS_H
#define DW_READ_METADATA_NAME_PIVOTS_H

#include "read/metadata/view.h"

/* The number of a name: 1. If it is not found: 0, and the number of the first larger
 * name, possibly one after the last. Or an error: a name could not be read. */
int dw_pivots_find(const struct view *view, const struct key *key, uint64_t *number_out);

/* The names are not sorted: do not search them again. */
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
