/* SPDX-License-Identifier: MIT */
/*
 * write/segment/minima: the shortest matches that are worth a chunk.
 */
#ifndef DW_WRITE_SEGMENT_MINIMA_H
#define DW_WRITE_SEGMENT_MINIMA_H

#include "write/options/build_options.h"

/* Bytes. */
struct match_minima {
	uint64_t far;  /* of a match in another block */
	uint64_t near; /* in the block being filled */
};

/*
 * The shortest matches that save more than their chunks cost, by how small the bytes would get
 * otherwise: density is that of dw_density(). Both are multiples of granularity where matches
 * begin and end at such. after_kept: there are blocks that were kept.
 */
struct match_minima dw_match_minima(const struct stream_settings *settings,
				    uint32_t density, size_t granularity,
				    bool after_kept);

/* The least entropy of the bytes of a match, in bytes: see base/entropy; 0: any. */
uint64_t dw_least_entropy(const struct stream_settings *settings, bool after_kept);

/* log2 of the shortest match of all. */
uint32_t dw_match_window_bits(const struct stream_settings *settings, bool after_kept);

#endif
