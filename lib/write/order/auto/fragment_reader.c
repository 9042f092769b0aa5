/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/fragment_reader: read fragments, or parts of them, for the choice of an order.
 */

#include "os/file_io.h"
#include "write/input/source.h"
#include "write/order/auto/fragment_reader.h"

/* This number of consecutive zero pieces is taken for the beginning of a hole. */
#define ZERO_PIECES 16

int dw_fragment_reader_init(struct fragment_reader *reader,
			    const struct order_input *input, dwarfs_error **err)
{
	*reader = (struct fragment_reader){
		.input = input,
		.head_bytes = UINT64_MAX,
		.bytes = dw_malloc(FRAGMENT_PIECE_BYTES),
	};
	return reader->bytes ? 0 : dw_fail_nomem(err);
}

void dw_fragment_reader_free(struct fragment_reader *reader)
{
	dw_free(reader->bytes);
	*reader = (struct fragment_reader){ 0 };
}

uint64_t dw_fragment_reader_total(const struct fragment_reader *reader,
				  const uint32_t *numbers, size_t count)
{
	const struct fragment *fragments = reader->input->contents->fragments;
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t size = fragments[numbers[i]].size;

		total += size < reader->head_bytes ? size : reader->head_bytes;
	}
	return total;
}

void dw_fragment_reader_begin(struct fragment_reader *reader, uint32_t number)
{
	reader->fragment = &reader->input->contents->fragments[number];
	reader->at = 0;
	reader->data_bytes = 0;
	reader->zero_pieces = 0;
}

/* Whether parts of all of the fragment are read. */
static bool is_in_windows(const struct fragment_reader *reader)
{
	return reader->window_bytes > 0 &&
	       reader->head_bytes / reader->window_bytes >= 2 &&
	       reader->fragment->size > reader->head_bytes;
}

/* Where to read next in the fragment, and how much at most. */
static uint64_t next_place(const struct fragment_reader *reader, size_t *size_out)
{
	uint64_t window = reader->window_bytes, gaps, within;

	*size_out = FRAGMENT_PIECE_BYTES;
	if (!is_in_windows(reader))
		return reader->at;
	gaps = reader->head_bytes / window - 1;
	within = reader->at % window;
	*size_out = (size_t)(window - within);
	return (reader->fragment->size - window) / gaps * (reader->at / window) + within;
}

int dw_fragment_reader_next(struct fragment_reader *reader, size_t *size_out,
			    dwarfs_error **err)
{
	const struct order_input *input = reader->input;
	const struct fragment *fragment = reader->fragment;
	uint64_t end =
		fragment->size < reader->head_bytes ? fragment->size : reader->head_bytes;
	uint64_t left = end - reader->at, place;
	size_t size;
	int64_t got;

	*size_out = 0;
	if (left == 0 || (reader->zero_pieces == ZERO_PIECES && !is_in_windows(reader)))
		return 0;
	place = next_place(reader, &size);
	got = dw_source_peek(input->run, input->tree, input->contents, fragment->content,
			     reader->bytes, left < size ? (size_t)left : size,
			     fragment->offset + place);
	if (got < 0 && dw_fd_is_exhausted((int)-got))
		return dw_fail_errno(err, (int)-got, "cannot read the input");
	if (got <= 0)
		return 0;
	reader->at += (uint64_t)got;
	reader->zero_pieces =
		dw_is_zero(reader->bytes, (size_t)got) ? reader->zero_pieces + 1 : 0;
	if (reader->zero_pieces == 0)
		reader->data_bytes += (uint64_t)got;
	*size_out = (size_t)got;
	return dw_progress_tick(&input->run->progress, err);
}

uint64_t dw_fragment_reader_data_bytes(const struct fragment_reader *reader)
{
	uint64_t size = reader->fragment->size;

	if (reader->zero_pieces == ZERO_PIECES)
		return reader->data_bytes;
	if (reader->data_bytes == reader->at)
		return size;
	return (uint64_t)((double)size / (double)reader->at * (double)reader->data_bytes);
}
