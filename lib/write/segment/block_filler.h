/* SPDX-License-Identifier: MIT */
/*
 * write/segment/block_filler: bytes -> chunks in the blocks of a stream.
 *
 * A place says how many bytes of the stream are in front of it, where each block counts
 * as a full one.
 */
#ifndef DW_WRITE_SEGMENT_BLOCK_FILLER_H
#define DW_WRITE_SEGMENT_BLOCK_FILLER_H

#include "write/segment/segment.h"
#include "write/segment/stored_window.h"

struct block_filler {
	struct compressor *compressor;
	struct chunks *chunks;
	struct stored_window *window; /* learns what is stored; NULL: nobody asks */
	struct block *block;	 /* being filled, or NULL */
	size_t block_bytes;
	uint32_t first_block; /* number of the first one of this stream */
	uint32_t last_block;  /* of the last one that was begun */
	bool has_first_block;
	uint64_t input_bytes; /* dealt with since a block was closed */
};

/* A fragment that gets its chunks. */
struct fill_state {
	struct fragment *fragment;
	uint64_t next_place; /* where a match would go on; UINT64_MAX: there was none */
	size_t literals;     /* bytes at the end of the block that were stored last */
};

/* The open block has room afterwards. */
int dw_block_filler_room(struct block_filler *filler, size_t *room_out, dwarfs_error **err);

/* Where the next byte would be stored: in the open block. */
uint64_t dw_block_filler_next(const struct block_filler *filler);

/* How many bytes are stored so far, as places go. */
uint64_t dw_block_filler_end(const struct block_filler *filler);

/* Bytes of the fragment at some place of a block; longer if it goes on there. */
int dw_block_filler_add_chunk(struct block_filler *filler, struct fragment *fragment,
			struct chunk chunk, dwarfs_error **err);

/* Bytes that are not stored yet, to the end of the block. */
int dw_block_filler_store(struct block_filler *filler, struct fill_state *fill, const uint8_t *data,
		    size_t size, dwarfs_error **err);

/*
 * How many bytes at the end of the block are literals of this fragment. A chunk that ends
 * there does not tell: it may refer to bytes that others have, too.
 */
size_t dw_block_filler_literals(const struct block_filler *filler, const struct fill_state *fill);

/* So many of them are stored elsewhere. */
void dw_block_filler_take_back(struct block_filler *filler, struct fill_state *fill, size_t size);

/* Refer to stored bytes, which may go on from block to block. */
int dw_block_filler_refer(struct block_filler *filler, struct fill_state *fill, uint64_t place,
		    size_t size, dwarfs_error **err);

/* Hand over the open block, if there is one. */
int dw_block_filler_close(struct block_filler *filler, dwarfs_error **err);

#endif
