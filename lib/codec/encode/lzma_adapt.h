/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma_adapt: options of LZMA that suit the data of a block, found by packing a
 * sample.
 */
#ifndef DW_CODEC_ENCODE_LZMA_ADAPT_H
#define DW_CODEC_ENCODE_LZMA_ADAPT_H

#include <lzma.h>

#include "codec/encode/ops.h"

/* 0, or an error for a result of the encoder. Too little space for the output is not an error:
 * the output is discarded. */
int dw_lzma_result(lzma_ret coded, dwarfs_error **err);

/* For attempts: a coder, whose tables are kept, and an output that is dropped. */
struct lzma_probe {
	lzma_stream *stream;
	struct buffer *scratch;
	struct codec_watch *watch;
};

/*
 * The size of the data packed with the filters, without a container, or more than limit if it
 * is larger than that.
 */
int dw_lzma_count(const struct lzma_probe *probe, const lzma_filter *filters,
		  struct span in, uint64_t limit, uint64_t *bytes_out,
		  dwarfs_error **err);

/*
 * Set lc, lp, pb and nice_len of the options, and *distance_out, the distance of a delta filter or
 * 0 for none, to the values with which samples of the block become smallest. The sample consists of
 * pieces of the block that begin at multiples of 16 bytes. full_nice_len is the default of nice_len.
 * Samples below 256 KiB get the usual options.
 */
int dw_lzma_adapt(const struct lzma_probe *probe, struct span block, struct span sample,
		  uint32_t full_nice_len, lzma_options_lzma *options,
		  uint32_t *distance_out, dwarfs_error **err);

/* Memory of attempts, without the sample, for blocks of this size, in this mode. */
uint64_t dw_lzma_adapt_memory(size_t block_bytes, lzma_mode mode);

#endif
