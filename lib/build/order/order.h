/* SPDX-License-Identifier: MIT */
/*
 * build/order: which contents come next.
 *
 * An order takes the contents of one category, given as numbers in scan order, and puts
 * them in the order in which they are stored. What is alike should stand close together,
 * and what is read together, too.
 */
#ifndef DW_BUILD_ORDER_H
#define DW_BUILD_ORDER_H

#include "build/contents.h"

struct order_ops {
	const char *name; /* as written on the command line */
	int (*sort)(const struct tree *tree, const struct contents *contents,
		    uint32_t *numbers, size_t count, dwarfs_error **err);
};

extern const struct order_ops dw_order_none;
extern const struct order_ops dw_order_path;
extern const struct order_ops dw_order_revpath;

/* The order of that name; NULL when there is none. */
const struct order_ops *dw_order_find(const char *name);

/*
 * Sort by a key for each entry of the tree, such as its rank by path. Contents are placed
 * by their first file.
 */
int dw_order_by_rank(const struct tree *tree, const struct contents *contents,
		     const uint32_t *rank_of_entry, uint32_t *numbers, size_t count,
		     dwarfs_error **err);

#endif
