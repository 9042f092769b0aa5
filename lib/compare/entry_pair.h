/* SPDX-License-Identifier: MIT */
/*
 * compare/entry_pair: what differs between two entries of the same path.
 */
#ifndef DW_COMPARE_ENTRY_PAIR_H
#define DW_COMPARE_ENTRY_PAIR_H

#include "compare/differ.h"

/* Two entries of the same path, of which one may be NULL. */
struct entry_pair {
	const struct side_entry *entries[2];
};

/* Report all differences of two entries. */
int dw_entry_pair_compare(struct differ *differ, const struct entry_pair *pair,
			  dwarfs_error **err);

/* Report unreadable properties of one or two entries: 1 if there are any, or 0. */
int dw_entry_pair_tell_lost(struct differ *differ, const struct entry_pair *pair,
			    enum known how, dwarfs_error **err);

#endif
