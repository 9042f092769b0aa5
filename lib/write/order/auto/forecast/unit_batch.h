/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/unit_batch: forecast what segment/gatherer.c stores again, so that
 * each unit of locality is in few blocks.
 *
 * A batch is what was stored since it began, of fragments of one unit that follow one another in
 * the order: about GATHERER_BATCH_BLOCKS at most. When it ends, locality.c judges its chunks:
 *
 *   chunks[i]     a segment and the block that it refers to, or a block that was filled here and
 *                 has contents that other units share
 *   shingles[i]   the shingle that begins the segment; DW_NONE: not a segment
 *   marks[i]      the unit should not be in the block, so that the segment is stored again
 *
 * They are in the order of the fragments, each of which has chunk_count of them while the batch is
 * open, and none afterwards.
 */
#ifndef DW_WRITE_ORDER_AUTO_FORECAST_UNIT_BATCH_H
#define DW_WRITE_ORDER_AUTO_FORECAST_UNIT_BATCH_H

#include "write/order/auto/forecast/stored_shingles.h"
#include "write/segment/locality.h"

struct unit_batch {
	const struct order_input *input;
	const struct sketch *sketch;
	const uint32_t *numbers; /* of fragments, in the order */
	struct stored_shingles *stored;
	struct locality *locality; /* NULL: nothing is stored again */
	double near_bytes; /* of the stream, that are stored before the first batch */
	bool is_open;
	uint32_t unit;
	size_t first, end; /* of the fragments in the order */
	double place;	   /* at its begin */
	double bytes;
	double fragment_place;	/* at the begin of the current fragment */
	size_t fragment_chunks; /* before it */
	struct chunk *chunks;
	uint32_t *shingles;
	uint8_t *marks;
	size_t count, chunk_room, shingle_room, mark_room;
};

/* Of a stream with these fragments and bytes. The arguments outlive it. */
int dw_unit_batch_init(struct unit_batch *batch, const struct order_input *input,
		       const struct sketch *sketch, const uint32_t *numbers,
		       uint64_t bytes, struct stored_shingles *stored,
		       dwarfs_error **err);
void dw_unit_batch_free(struct unit_batch *batch);

/* Call before the shingles of the fragment at an index are stored, and afterwards. */
int dw_unit_batch_turn(struct unit_batch *batch, size_t at, dwarfs_error **err);
void dw_unit_batch_add(struct unit_batch *batch, size_t at);

/* The current fragment refers to bytes at a place, by the shingle with this number. */
void dw_unit_batch_refer(struct unit_batch *batch, double place, double bytes,
			 uint32_t number);

/* Call after the last fragment, and after an error. */
int dw_unit_batch_end(struct unit_batch *batch, dwarfs_error **err);

#endif
