/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/whole_block: decode a block once, into its own memory.
 */
#ifndef DW_READ_BULK_WHOLE_BLOCK_H
#define DW_READ_BULK_WHOLE_BLOCK_H

#include "read/bulk/block_pieces.h"

/* Set need, and pages if there are any to use again; other members are zero at first. */
struct whole {
	uint64_t need; /* decode up to here, or to the end of the block */
	const uint8_t *bytes;
	struct stored stored;
	uint8_t *pages; /* owned; buffer for the bytes, may be NULL */
	size_t page_bytes;
	struct cached cached; /* held, when it has data */
};

/* Read, verify and decompress a block as far as needed, or use the cache. Threads:
 * any. */
int dw_whole_load(dwarfs_image *image, uint32_t block, struct whole *whole,
		  dwarfs_error **err);

/* Also for one that could not be loaded. */
void dw_whole_release(dwarfs_image *image, struct whole *whole);

/* 0 if a loaded block contains all of a piece, which may be a hole. */
int dw_whole_has(const struct whole *whole, const struct piece *piece,
		 dwarfs_error **err);

#endif
