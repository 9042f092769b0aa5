/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma_block: unpack one Block of an .xz stream; see ops.h for the decoder.
 */
#ifndef DW_CODEC_LZMA_LZMA_BLOCK_H
#define DW_CODEC_LZMA_LZMA_BLOCK_H

#include <lzma.h>

#include "codec/lzma/lzma2.h"
#include "codec/ops.h"

/* Memory from base/allocator. */
extern const lzma_allocator dw_lzma_allocator;

/* Zero-initialized, except for the stream, which has only the allocator; used for one
 * Block after the other. */
struct lzma_run {
	lzma_block block;
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	uint64_t window; /* the maximum memory of the Blocks so far, in bytes */

	bool is_plain;	      /* decoded by lzma2, otherwise by the stream */
	struct lzma2 *lzma2;  /* or NULL */
	size_t packed, start; /* where the Block begins, in the input and in the output */
	lzma_stream stream;
};

/* Read the header of a Block, of which there is at least one byte; advances *at. After
 * OK, call dw_lzma_open_block() or dw_lzma_drop_header(). */
lzma_ret dw_lzma_read_header(struct lzma_run *run, struct span in, size_t *at,
			     lzma_check check);
void dw_lzma_drop_header(struct lzma_run *run);

/* Start decoding the Block whose header was read, from at on, into the output of the
 * decoder. */
lzma_ret dw_lzma_open_block(struct lzma_run *run, const struct decoder *decoder,
			    size_t at);

/* Decode up to this offset of the output: OK, or STREAM_END at the end of the Block,
 * whose size then matches its header. BUF_ERROR if there is more data than the decoder
 * expects. */
lzma_ret dw_lzma_run_block(struct lzma_run *run, struct decoder *decoder, size_t *at,
			   size_t upto);

void dw_lzma_end_run(struct lzma_run *run);

/* The smallest dictionary, in a size that .xz can express, for this much data. */
uint32_t dw_lzma_dictionary_for(uint64_t bytes);

#endif
