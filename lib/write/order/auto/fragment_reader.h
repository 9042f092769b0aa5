/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/fragment_reader: read fragments, or parts of them, for the choice of an order.
 */
#ifndef DW_WRITE_ORDER_AUTO_FRAGMENT_READER_H
#define DW_WRITE_ORDER_AUTO_FRAGMENT_READER_H

#include "write/order/order.h"

#define FRAGMENT_PIECE_BYTES ((size_t)256 << 10)

struct fragment_reader {
	const struct order_input *input;
	uint64_t head_bytes; /* of a fragment, at most */
	uint64_t
		window_bytes; /* at most FRAGMENT_PIECE_BYTES; 0: the first bytes are read */
	uint8_t *bytes;	      /* FRAGMENT_PIECE_BYTES: the last piece */

	/* Of the current fragment. */
	const struct fragment *fragment;
	uint64_t at;	      /* of what is read of it */
	uint64_t data_bytes;  /* of the pieces that are not zeros */
	unsigned zero_pieces; /* in a row */
};

int dw_fragment_reader_init(struct fragment_reader *reader,
			    const struct order_input *input, dwarfs_error **err);
void dw_fragment_reader_free(struct fragment_reader *reader);

/* How many bytes are read of fragments when head_bytes is that. */
uint64_t dw_fragment_reader_total(const struct fragment_reader *reader,
				  const uint32_t *numbers, size_t count);

void dw_fragment_reader_begin(struct fragment_reader *reader, uint32_t number);

/*
 * Read the next piece, and report progress. Of a fragment that is larger than head_bytes, these
 * are its first bytes or, in pieces of window_bytes, distributed evenly from its begin to its end.
 * The size is 0 after the last piece: when head_bytes are read, after an error, which the segmenter
 * will report, or at the beginning of long zeros, which have no effect on the order.
 */
int dw_fragment_reader_next(struct fragment_reader *reader, size_t *size_out,
			    dwarfs_error **err);

/*
 * After the last piece: the bytes of the fragment without pieces of zeros, by what was read of it.
 * It is data_bytes where long zeros ended reading. Otherwise the rest of the fragment is taken to
 * have as large a part of zeros as what was read. If nothing could be read, all bytes count.
 */
uint64_t dw_fragment_reader_data_bytes(const struct fragment_reader *reader);

#endif
