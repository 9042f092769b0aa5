/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/read_ahead: the first bytes of fragments, piece by piece, to choose an order by.
 */
#include <string.h>

#include "write/input/source.h"
#include "write/order/auto/read_ahead.h"

/* This number of consecutive zero pieces is taken for the beginning of a hole. */
#define ZERO_PIECES 16

int dw_reading_init(struct reading *reading, const struct order_input *input,
		    dwarfs_error **err)
{
	*reading = (struct reading){
		.input = input,
		.head_bytes = UINT64_MAX,
		.bytes = dw_malloc(READING_PIECE_BYTES),
	};
	return reading->bytes ? 0 : dw_fail_nomem(err);
}

void dw_reading_free(struct reading *reading)
{
	dw_free(reading->bytes);
	*reading = (struct reading){ 0 };
}

uint64_t dw_reading_total(const struct reading *reading, const uint32_t *numbers,
			  size_t count)
{
	const struct fragment *fragments = reading->input->contents->fragments;
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t size = fragments[numbers[i]].size;

		total += size < reading->head_bytes ? size : reading->head_bytes;
	}
	return total;
}

void dw_reading_begin(struct reading *reading, uint32_t number)
{
	reading->fragment = &reading->input->contents->fragments[number];
	reading->at = 0;
	reading->zero_pieces = 0;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

int dw_reading_next(struct reading *reading, size_t *size_out, dwarfs_error **err)
{
	const struct order_input *input = reading->input;
	const struct fragment *fragment = reading->fragment;
	uint64_t end = fragment->size < reading->head_bytes ? fragment->size
							    : reading->head_bytes;
	uint64_t left = end - reading->at;
	int64_t got;

	*size_out = 0;
	if (left == 0 || reading->zero_pieces == ZERO_PIECES)
		return 0;
	got = dw_source_peek(input->run, input->tree, input->contents, fragment->content,
			     reading->bytes,
			     left < READING_PIECE_BYTES ? (size_t)left
							: READING_PIECE_BYTES,
			     fragment->offset + reading->at);
	if (got <= 0)
		return 0;
	reading->at += (uint64_t)got;
	reading->zero_pieces =
		is_zero(reading->bytes, (size_t)got) ? reading->zero_pieces + 1 : 0;
	*size_out = (size_t)got;
	return dw_progress_tick(&input->run->progress, err);
}
