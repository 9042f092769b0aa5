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
 * where the distance of the differences changes. Within a Block the contexts change, unless it
 * has a BCJ filter: then they are branch_contexts if the Block is more than one range. nice_len
 * is that of the first range.
 */
int dw_lzma_write_stream(lzma_stream *stream, const struct lzma_plan *plan,
			 struct span in, size_t room, struct buffer *out,
			 struct codec_watch *watch, dwarfs_error **err);

/* The size of the contents of all Blocks, each packed with the contexts of its first range. */
int dw_lzma_count_stream(const struct lzma_probe *probe, const struct lzma_plan *plan,
			 struct span in, uint64_t *bytes_out, dwarfs_error **err);

#endif
