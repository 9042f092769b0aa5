/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_ranges: the ranges of a block that lzma packs in different ways.
 */
#ifndef DW_CODEC_ENCODE_LZMA_LZMA_RANGES_H
#define DW_CODEC_ENCODE_LZMA_LZMA_RANGES_H

#include "codec/encode/lzma/lzma_stream.h"

#define DW_LZMA_MAX_RANGES 64

struct lzma_ranges {
	struct lzma_range list[DW_LZMA_MAX_RANGES];
	size_t count;		      /* at least 1 */
	struct lzma_choice undivided; /* for the block as one range */
};

/* Append a range, or make it a part of the one before it if it is packed in the same way. */
void dw_lzma_add_range(struct lzma_ranges *ranges, size_t upto,
		       const struct lzma_choice *choice);

/*
 * Find the ranges and choose how to pack each; a sample of a range that is large is taken into
 * the buffer. nice_len and mode are those of the codec.
 */
int dw_lzma_find_ranges(const struct lzma_probe *probe, struct span block,
			uint32_t nice_len, lzma_mode mode, struct buffer *sample,
			struct lzma_ranges *ranges_out, dwarfs_error **err);

/* The largest sample of a block of this size, in bytes; 0 if there is none. */
size_t dw_lzma_range_sample(size_t block_bytes);

#endif
