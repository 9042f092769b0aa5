/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/next_ranges: which ranges of a block will be read soon if a directory is
 * read, and where a reader is in that order.
 */
#ifndef DW_READ_BULK_NEXT_RANGES_H
#define DW_READ_BULK_NEXT_RANGES_H

#include "read/cache/cache.h"
#include "read/image/image.h"

/*
 * The ranges of a block that a file needs from a chunk on, and in this chunk from an offset
 * in the block, and the files after it in the order of paths, until these have most_bytes in all
 * blocks. Sorted, without
 * overlaps. The caller frees *list_out. Damaged metadata only shortens the list; fails
 * only with NOMEM.
 */
int dw_siblings_in(const dwarfs_image *image, struct chunk_reader reader, uint32_t block,
		   uint64_t from, uint64_t most_bytes, struct range **list_out,
		   size_t *count_out, dwarfs_error **err);

/* The position of a reader: the entry of its file in the order of paths times 2^32, and the
 * chunk of the file. 0 if it is not known. */
uint64_t dw_reader_position(const dwarfs_image *image, struct chunk_reader reader);

#endif
