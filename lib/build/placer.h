/* SPDX-License-Identifier: MIT */
/*
 * build/placer: bytes -> chunks in the blocks of a stream.
 *
 * A place says how many bytes of the stream are in front of it, where each block counts
 * as a full one.
 */
#ifndef DW_BUILD_PLACER_H
#define DW_BUILD_PLACER_H

#include "build/history.h"
#include "build/segment.h"

struct placer {
	struct compressor *compressor;
	struct chunks *chunks;
	struct history *history; /* learns what is stored; NULL: nobody asks */
	struct block *block;	 /* being filled, or NULL */
	size_t block_bytes;
	uint32_t first_block; /* number of the first one of this stream */
	uint32_t last_block;  /* of the last one that was begun */
	bool has_first_block;
	uint64_t input_bytes; /* dealt with since a block was closed */
};

/* A fragment that gets its chunks. */
struct placing {
	struct fragment *fragment;
	uint64_t next_place; /* where a match would go on; UINT64_MAX: there was none */
	size_t literals;     /* bytes at the end of the block that were stored last */
};

/* The open block has room afterwards. */
int dw_placer_room(struct placer *placer, size_t *room_out, dwarfs_error **err);

/* Where the next byte would be stored: in the open block. */
uint64_t dw_placer_next(const struct placer *placer);

/* How many bytes are stored so far, as places go. */
uint64_t dw_placer_end(const struct placer *placer);

/* Bytes of the fragment at some place of a block; longer if it goes on there. */
int dw_placer_add_chunk(struct placer *placer, struct fragment *fragment,
			struct chunk chunk, dwarfs_error **err);

/* Bytes that are not stored yet, to the end of the block. */
int dw_placer_store(struct placer *placer, struct placing *placing, const uint8_t *data,
		    size_t size, dwarfs_error **err);

/*
 * How many bytes at the end of the block are literals of this fragment. A chunk that ends
 * there does not tell: it may refer to bytes that others have, too.
 */
size_t dw_placer_literals(const struct placer *placer, const struct placing *placing);

/* So many of them are stored elsewhere. */
void dw_placer_take_back(struct placer *placer, struct placing *placing, size_t size);

/* Refer to stored bytes, which may go on from block to block. */
int dw_placer_refer(struct placer *placer, struct placing *placing, uint64_t place,
		    size_t size, dwarfs_error **err);

/* Hand over the open block, if there is one. */
int dw_placer_close(struct placer *placer, dwarfs_error **err);

#endif
