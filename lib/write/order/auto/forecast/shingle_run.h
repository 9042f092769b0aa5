/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/shingle_run: the longest run of shingles of a piece that is stored
 * before.
 *
 * The shingles of a run are stored one after the other, as far apart as they are in the piece.
 * A run that is long enough becomes a segment, as the longest match does in segment/matcher.c.
 */
#ifndef DW_WRITE_ORDER_AUTO_FORECAST_SHINGLE_RUN_H
#define DW_WRITE_ORDER_AUTO_FORECAST_SHINGLE_RUN_H

#include "write/order/auto/forecast/stored_shingles.h"

/* The shingles of a piece, divided into stretches; of a large piece a part was read, and each
 * byte of that part represents several. */
struct piece_shingles {
	const struct shingle *list;
	uint32_t count;
	uint32_t read_bytes; /* modulo 2^32, as positions of shingles */
	double scale;	     /* bytes of the piece for each that was read */
};

struct piece_shingles dw_piece_shingles(const struct sketch *sketch,
					const struct sketch_piece *piece);

/* What the shingle at an index begins. */
struct stretch dw_stretch_at(const struct piece_shingles *piece, uint32_t at);

struct shingle_run {
	uint32_t count; /* of shingles; 0: not stored, or segments are not searched */
	double place, bytes; /* where it is stored, and how long it is */
	bool near;	     /* in the block of the codec */
	bool refers;	     /* it is a segment */
};

/* The longest run from a shingle on that is worth a segment; without any, that at the newest
 * place. minima is NULL if the segmenter is not used. */
struct shingle_run dw_find_run(const struct stored_shingles *stored,
			       const struct match_minima *minima,
			       const struct piece_shingles *piece, uint32_t at);

#endif
