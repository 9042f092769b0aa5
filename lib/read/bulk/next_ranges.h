/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/next_ranges: which bytes of a block will be read soon, by who reads a
 * directory.
 */
#ifndef DW_READ_BULK_NEXT_RANGES_H
#define DW_READ_BULK_NEXT_RANGES_H

#include "read/image.h"

/* * The ranges of a block that a file needs from a place in the block on, and those files
 * that follow in the order of paths, until all of them together have so many bytes in all
 * blocks. They are sorted by place, and do not overlap. The caller frees *list_out.
 * Damaged metadata only makes the list shorter: NOMEM is all that fails.
 */
int dw_siblings_in(const dwarfs_image *image, dwarfs_inode inode, uint32_t block,
		   uint64_t from, uint64_t most_bytes, struct range **list_out,
		   size_t *count_out, dwarfs_error **err);

#endif
