/* SPDX-License-Identifier: MIT */
/*
 * build/compress: blocks -> packed, on the pool, written in order.
 */
#ifndef DW_BUILD_COMPRESS_H
#define DW_BUILD_COMPRESS_H

#include "build/sections.h"

struct compressor;

/* A block being filled. */
struct block {
	uint32_t number;
	uint8_t *data; /* room for the block size */
	size_t size;
};

int dw_compressor_new(struct sections *sections, const struct codec_spec *codec,
		      struct compressor **compressor_out, dwarfs_error **err);
void dw_compressor_free(struct compressor *compressor);
DW_DEFINE_AUTO(compressor, struct compressor *, dw_compressor_free)
#define auto_compressor DW_AUTO(compressor)

/* The next block, empty. It stays the compressor's. */
int dw_compressor_open(struct compressor *compressor, struct block **block_out,
		       dwarfs_error **err);

/* Take a block that is full, or the last one. */
int dw_compressor_close(struct compressor *compressor, struct block *block,
			dwarfs_error **err);

/* Wait until all blocks are written. */
int dw_compressor_finish(struct compressor *compressor, dwarfs_error **err);

#endif
