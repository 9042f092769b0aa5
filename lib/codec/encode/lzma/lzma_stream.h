/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_stream: write an .xz stream, of one Block or of several.
 */
#ifndef DW_CODEC_ENCODE_LZMA_LZMA_STREAM_H
#define DW_CODEC_ENCODE_LZMA_LZMA_STREAM_H

#include "codec/encode/lzma/lzma_adapt.h"

/* A part of the data, from the end of the one before it on, and how it is packed. */
struct lzma_range {
	size_t upto; /* an offset; that of the last one is the size of the data */
	struct lzma_choice choice;
};

struct lzma_plan {
	const lzma_options_lzma *options; /* but for what the ranges choose */
	lzma_vli branch; /* the BCJ filter of ranges without differences, or 0 */
	struct lzma_contexts branch_contexts; /* of a Block with that filter */
	lzma_check check;
	size_t part_bytes; /* maximum size of a Block's contents */
	const struct lzma_range *ranges;
	size_t range_count; /* at least 1 */
};

/*
 * Pack into at most room bytes of out; its size stays 0 if that is too small. A Block ends
 * where the distance of the differences changes. The contexts change within a Block unless it
 * has a BCJ filter.
 */
int dw_lzma_write_stream(lzma_stream *stream, const struct lzma_plan *plan,
			 struct span in, size_t room, struct buffer *out,
			 struct codec_watch *watch, dwarfs_error **err);

#endif
