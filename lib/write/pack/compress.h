/* SPDX-License-Identifier: MIT */
/*
 * write/pack/compress: compress blocks on the pool, and write their sections in order.
 */
#ifndef DW_WRITE_PACK_COMPRESS_H
#define DW_WRITE_PACK_COMPRESS_H

#include "write/budget/budget.h"
#include "write/images/source_image.h"
#include "write/pack/block_packer.h"
#include "write/pack/section_writer.h"

struct compressor;

/* A block of a stream, with a count of references. */
struct block {
	uint32_t number;
	uint8_t *data;
	size_t room; /* of data */
	size_t size;
	/* input bytes that are done once it is written; for the progress */
	uint64_t input_bytes;
	uint32_t references;
	struct block *next_free;
};

/* The stream of each block, by block number. */
struct block_streams {
	uint32_t *list;
	size_t count, room;
};

static inline void dw_block_streams_free(struct block_streams *streams)
{
	dw_free(streams->list);
	*streams = (struct block_streams){ 0 };
}

int dw_compressor_new(struct section_writer *sections, const struct budget *budget,
		      struct block_streams *streams, struct compressor **compressor_out,
		      dwarfs_error **err);
void dw_compressor_free(struct compressor *compressor);
DW_DEFINE_AUTO(compressor, struct compressor *, dw_compressor_free)
#define auto_compressor DW_AUTO(compressor)

/* Begin a stream: the blocks after this call belong to it, and hold at most block_bytes. */
int dw_compressor_turn(struct compressor *compressor, uint32_t stream, uint32_t category,
		       const struct packing *packing, size_t block_bytes,
		       dwarfs_error **err);

/* The codec of the blocks of this stream is freed after each block, so that the calling thread can
 * use the memory between two of them. */
void dw_compressor_free_codecs(struct compressor *compressor);

/* Wait until at most this number of blocks is being compressed. */
int dw_compressor_await_blocks(struct compressor *compressor, uint32_t most,
			       dwarfs_error **err);

/* A new, empty block, referenced by the caller. */
int dw_compressor_open(struct compressor *compressor, struct block **block_out,
		       dwarfs_error **err);

/* Submit a full block, or the last one of a stream. The caller's reference is
 * released. */
int dw_compressor_close(struct compressor *compressor, struct block *block,
			dwarfs_error **err);

/* Wait until there is memory for one more block to copy, of this stored size; call it before
 * the block is read. */
int dw_compressor_await_copies(struct compressor *compressor, uint64_t bytes,
			       dwarfs_error **err);

/*
 * Write a block as it is stored in another image, with the next number, which is returned;
 * takes the payload.
 * Its hashes are computed, unless it is damaged: then it keeps those that it has, which stay
 * wrong.
 */
int dw_compressor_copy(struct compressor *compressor, uint32_t stream, uint32_t category,
		       struct stored_section *section, uint32_t *number_out,
		       dwarfs_error **err);

/* Add and release a reference, on the calling thread only. NULL is accepted for
 * release. */
void dw_block_reference(struct block *block);
void dw_block_release(struct compressor *compressor, struct block *block);

/* Wait until the blocks so far are written; other sections may be written then. */
int dw_compressor_flush(struct compressor *compressor, dwarfs_error **err);

/* The same, after the last block. */
int dw_compressor_finish(struct compressor *compressor, dwarfs_error **err);

#endif
