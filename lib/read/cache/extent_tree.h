/* SPDX-License-Identifier: MIT */
/*
 * read/cache/extent_tree: the extents of a unit by offset.
 */
#ifndef DW_READ_CACHE_EXTENT_TREE_H
#define DW_READ_CACHE_EXTENT_TREE_H

#include "read/cache/internal.h"

/* The extents of a tree do not overlap. */
void dw_extent_tree_insert(struct extent **root, struct extent *extent);
void dw_extent_tree_remove(struct extent **root, struct extent *extent);

/* The last extent that begins at or before an offset, or NULL. */
struct extent *dw_extent_tree_last_at(struct extent *extent, uint64_t place);

/* The first extent that begins after an offset, or NULL. */
struct extent *dw_extent_tree_first_after(struct extent *extent, uint64_t place);

#endif
