/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/block_pieces: which ranges of which blocks many files consist of.
 */
#ifndef DW_READ_BULK_BLOCK_PIECES_H
#define DW_READ_BULK_BLOCK_PIECES_H

#include "read/image/image.h"

#define NO_BLOCK UINT32_MAX

/* A range of a file that is contiguous in a block, or a hole. */
struct piece {
	uint64_t at; /* in the file */
	uint64_t bytes;
	uint32_t block;	 /* for a hole, that of its neighbour, or NO_BLOCK */
	uint32_t offset; /* in the block */
	uint32_t file;	 /* chosen by the caller */
	bool is_hole;
};

/* All zero is empty. */
struct pieces {
	struct piece *list;
	size_t count, room;
};

void dw_pieces_free(struct pieces *pieces);
static inline void dw_cleanup_pieces(struct pieces *pieces)
{
	dw_pieces_free(pieces);
}
#define auto_pieces DW_AUTO(pieces)

/* Add the pieces of a file, and give its size. On failure nothing is added: CORRUPT if
 * its chunks are invalid, NOMEM. */
int dw_pieces_add(struct pieces *pieces, const dwarfs_image *image,
		  struct chunk_range range, uint32_t file, uint64_t *bytes_out,
		  dwarfs_error **err);

/* Sort by block, then by file and offset in it; or then by offset in the block. */
void dw_pieces_sort_by_file(struct pieces *pieces);
void dw_pieces_sort_by_offset(struct pieces *pieces);

/* The end of the pieces that are in the block of the first. */
size_t dw_pieces_end_of_block(const struct pieces *pieces, size_t first);

/* Up to which offset the block of these pieces has to be decoded. */
uint64_t dw_pieces_need(const struct pieces *pieces, size_t first, size_t end);

#endif
