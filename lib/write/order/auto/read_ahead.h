/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/read_ahead: the first bytes of fragments, piece by piece, to choose an order by.
 */
#ifndef DW_WRITE_ORDER_AUTO_READ_AHEAD_H
#define DW_WRITE_ORDER_AUTO_READ_AHEAD_H

#include "write/order/order.h"

#define READING_PIECE_BYTES ((size_t)256 << 10)

struct reading {
	const struct order_input *input;
	uint64_t head_bytes; /* of a fragment, at most */
	uint8_t *bytes;	     /* READING_PIECE_BYTES: the last piece */

	/* Of the fragment at hand. */
	const struct fragment *fragment;
	uint64_t at;
	unsigned zero_pieces; /* in a row */
};

int dw_reading_init(struct reading *reading, const struct order_input *input,
		    dwarfs_error **err);
void dw_reading_free(struct reading *reading);

/* How many bytes are read of fragments when head_bytes is that. */
uint64_t dw_reading_total(const struct reading *reading, const uint32_t *numbers,
			  size_t count);

void dw_reading_begin(struct reading *reading, uint32_t number);

/*
 * Read the next piece, and report progress. Its size is 0 at the end: of the head, of a file
 * that cannot be read any further, which the segmenter will say, or where long zeros begin,
 * which tell nothing.
 */
int dw_reading_next(struct reading *reading, size_t *size_out, dwarfs_error **err);

#endif
