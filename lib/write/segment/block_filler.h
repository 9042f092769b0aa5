/* SPDX-License-Identifier: MIT */
/*
 * write/segment/block_filler: bytes -> chunks in the blocks of a stream.
 *
 * A position is the offset of a byte in the stream, where each block counts as a full
 * one.
 */
#ifndef DW_WRITE_SEGMENT_BLOCK_FILLER_H
#define DW_WRITE_SEGMENT_BLOCK_FILLER_H

#include "write/segment/segment.h"
#include "write/segment/stored_window.h"

struct block_filler {
	struct compressor *compressor;
	struct chunks *chunks;
	struct stored_window *window; /* is given all stored bytes; NULL: no matching */
	struct kept_window *kept;     /* blocks before those of the stream, or NULL */
	struct block *block;	      /* being filled, or NULL */
	size_t block_bytes;
	uint32_t first_block; /* number of the first one of this stream */
	uint32_t last_block;  /* of the last one that was begun */
	bool has_first_block;
	uint64_t input_bytes; /* input bytes done since a block was closed */
};

/* A fragment while it is stored. */
struct fill_state {
	struct fragment *fragment;
	uint64_t next_place; /* where the last match continues; UINT64_MAX: none */
	size_t literals;     /* bytes at the end of the block that were stored last */
};

/* Make sure that the open block has free space, and get its size. */
int dw_block_filler_room(struct block_filler *filler, size_t *room_out,
			 dwarfs_error **err);

/* Position of the next byte, in the open block. */
uint64_t dw_block_filler_next(const struct block_filler *filler);

/* End of the stored bytes, as a position. */
uint64_t dw_block_filler_end(const struct block_filler *filler);

/* Add a chunk of the fragment, or extend the last one if it continues it. */
int dw_block_filler_add_chunk(struct block_filler *filler, struct fragment *fragment,
			      struct chunk chunk, dwarfs_error **err);

/* Store new bytes at the end of the block. */
int dw_block_filler_store(struct block_filler *filler, struct fill_state *fill,
			  const uint8_t *data, size_t size, dwarfs_error **err);

/*
 * How many bytes at the end of the block were stored for this fragment. A chunk that ends
 * there does not show that: it may refer to bytes that other files use, too.
 */
size_t dw_block_filler_literals(const struct block_filler *filler,
				const struct fill_state *fill);

/* Remove stored bytes from the end of the block, because a match covers them. */
void dw_block_filler_take_back(struct block_filler *filler, struct fill_state *fill,
			       size_t size);

/* Refer to stored bytes, which may extend over several blocks. */
int dw_block_filler_refer(struct block_filler *filler, struct fill_state *fill,
			  uint64_t place, size_t size, dwarfs_error **err);

/* Submit the open block, if there is one. */
int dw_block_filler_close(struct block_filler *filler, dwarfs_error **err);

#endif
