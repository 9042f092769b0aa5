/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/whole_block: a block that is unpacked once, into memory of its own.
 */
#ifndef DW_READ_BULK_WHOLE_BLOCK_H
#define DW_READ_BULK_WHOLE_BLOCK_H

#include "read/bulk/block_pieces.h"

/* Set need, and pages if there are some to spare; the rest is zero at first. */
struct whole {
	uint64_t need; /* how far it has to be unpacked; at most as far as it goes */
	const uint8_t *bytes;
	struct stored stored;
	uint8_t *pages; /* owned; the bytes may be here */
	size_t page_bytes;
	struct cached cached; /* held, when it has data */
};

/* Read, verify and unpack a block, as far as it is needed, or take what the cache has.
 * Threads: any. */
int dw_whole_load(dwarfs_image *image, uint32_t block, struct whole *whole,
		  dwarfs_error **err);

/* Also of one that could not be loaded. */
void dw_whole_release(dwarfs_image *image, struct whole *whole);

/* 0 when a block that was loaded has all of a piece, which may be a hole. */
int dw_whole_has(const struct whole *whole, const struct piece *piece,
		 dwarfs_error **err);

#endif
