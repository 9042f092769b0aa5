/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma_block: unpacking one Block of an .xz stream; see ops.h for the decoder.
 */
#ifndef DW_CODEC_LZMA_LZMA_BLOCK_H
#define DW_CODEC_LZMA_LZMA_BLOCK_H

#include <lzma.h>

#include "codec/lzma/lzma2.h"
#include "codec/ops.h"

/* All zeros at first, but for the stream, which is LZMA_STREAM_INIT; used for one Block
 * after the other. */
struct lzma_run {
	lzma_block block;
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	uint64_t window; /* the most that the Blocks so far took, in bytes */

	bool is_plain;	      /* lzma2 does it, otherwise the stream */
	struct lzma2 *lzma2;  /* or NULL */
	size_t packed, start; /* where the Block begins, in the input and in the output */
	lzma_stream stream;
};

/* The header of a Block, of which a byte at least is there; *at moves behind it. When OK
 * is the result, dw_lzma_open_block() or dw_lzma_drop_header() comes next. */
lzma_ret dw_lzma_read_header(struct lzma_run *run, struct span in, size_t *at,
			     lzma_check check);
void dw_lzma_drop_header(struct lzma_run *run);

/* What it says is to come, from at on, in the output of the decoder. */
lzma_ret dw_lzma_open_block(struct lzma_run *run, const struct decoder *decoder,
			    size_t at);

/* Output up to that place: OK, or STREAM_END at the end of the Block, which is then as
 * long as it says. BUF_ERROR when there is more than the decoder wants. */
lzma_ret dw_lzma_run_block(struct lzma_run *run, struct decoder *decoder, size_t *at,
			   size_t upto);

void dw_lzma_end_run(struct lzma_run *run);

#endif
