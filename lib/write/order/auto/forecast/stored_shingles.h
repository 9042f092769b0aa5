/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/stored_shingles: the shingles that are in the blocks so far, and
 * where.
 *
 * A place in a stream is the number of bytes that its blocks hold before it. Bytes are stored
 * in stretches, each from one shingle of a piece to the next; segments, which the segmenter only
 * refers to, are not stored and have no place. Places of shingles are kept as numbers of units,
 * rounded down, so that they fit into 32 bits:
 *
 *   last[length][id]   the newest place of a shorter shingle, for the matches of a codec
 *   places[id].list    places of a long shingle: the newest ones first, and the oldest. NOWHERE:
 *                      none, nor in the following elements
 *
 * What is stored is counted in the forecast, by how the codec finds it.
 */
#ifndef DW_WRITE_ORDER_AUTO_FORECAST_STORED_SHINGLES_H
#define DW_WRITE_ORDER_AUTO_FORECAST_STORED_SHINGLES_H

#include "write/order/auto/forecast/forecast.h"

#define NOWHERE UINT32_MAX

/* Of a long shingle; anchor_index.c keeps them in the same way, but more of them. */
#define LONG_PLACES 4

struct long_places {
	uint32_t list[LONG_PLACES];
};

struct stored_shingles {
	uint32_t *last[SHINGLE_LONG];
	struct long_places *places;
	size_t place_count; /* of a long shingle, that matches are looked for at */
	double place;	    /* of what is stored next */
	double unit_bytes;
	double block_bytes, codec_bytes;
	struct forecast *forecast;
};

/* What there is between a shingle of a piece and the next one, or the end. */
struct stretch {
	double lead; /* before the first shingle */
	double bytes;
};

/* bytes: those of the stream. The forecast is the caller's. */
int dw_stored_shingles_init(struct stored_shingles *stored,
			    const struct order_input *input, const struct sketch *sketch,
			    uint64_t bytes, struct forecast *forecast,
			    dwarfs_error **err);
void dw_stored_shingles_free(struct stored_shingles *stored);

/* Whether the codec, at the place of what is stored next, still has this one in its reach. */
bool dw_stored_is_near(const struct stored_shingles *stored, uint32_t unit);

/* The number of the block with a place. */
static inline uint32_t dw_stored_block(const struct stored_shingles *stored, double place)
{
	return (uint32_t)(place / stored->block_bytes);
}

/* Of a long shingle; NULL: the data ends before it, or it occurs once. */
static inline const struct long_places *
dw_stored_places(const struct stored_shingles *stored, const struct shingle *shingle)
{
	uint32_t id = shingle->ids[SHINGLE_LONG];

	return id != DW_NONE ? &stored->places[id] : NULL;
}

/* Whether a known place of the long shingle is this one, but for rounding. */
bool dw_stored_is_at(const struct stored_shingles *stored, const struct shingle *shingle,
		     double place);

/* Add bytes to the blocks, by whether the codec finds them again; in_run: they are part of a run. */
void dw_stored_add(struct stored_shingles *stored, const struct shingle *shingle,
		   struct stretch stretch, bool in_run);

/* Add bytes without shingles. */
void dw_stored_add_fresh(struct stored_shingles *stored, double bytes);

#endif
