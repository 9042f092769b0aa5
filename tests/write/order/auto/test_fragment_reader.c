/* SPDX-License-Identifier: MIT */
/*
 * order/auto/fragment_reader: pieces of the first bytes, up to long zeros.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"
#include "write/order/auto/fragment_reader.h"

/* Hollow contents read as zeros. */
static struct order_tree *hollow(uint64_t bytes)
{
	struct order_tree *place = order_tree_small();

	place->options.input.hollow = true;
	for (uint32_t i = 0; i < place->contents.count; i++) {
		place->tree.inodes[place->contents.list[i].inode].size = bytes;
		place->contents.fragments[i].size = bytes;
	}
	return place;
}

/* The size of the next piece. */
static size_t next(struct fragment_reader *reader)
{
	size_t size = 1;

	assert_int_equal(dw_fragment_reader_next(reader, &size, NULL), 0);
	return size;
}

static void heads_end_where_they_should(void **state)
{
	struct order_tree *place = hollow(FRAGMENT_PIECE_BYTES + 1000);
	struct order_input input = order_tree_input(place, NULL);
	struct fragment_reader reader;

	assert_int_equal(dw_fragment_reader_init(&reader, &input, NULL), 0);
	dw_fragment_reader_begin(&reader, 1);
	assert_int_equal(next(&reader), FRAGMENT_PIECE_BYTES);
	assert_int_equal(next(&reader), 1000);
	assert_int_equal(next(&reader), 0);
	reader.head_bytes = 700;
	dw_fragment_reader_begin(&reader, 2);
	assert_int_equal(next(&reader), 700);
	assert_int_equal(next(&reader), 0);
	dw_fragment_reader_free(&reader);
	order_tree_free(place);
}

static void a_total_counts_heads_only(void **state)
{
	struct order_tree *place = hollow(5000);
	struct order_input input = order_tree_input(place, NULL);
	struct fragment_reader reader;

	place->contents.fragments[2].size = 100;
	assert_int_equal(dw_fragment_reader_init(&reader, &input, NULL), 0);
	assert_int_equal(dw_fragment_reader_total(&reader, place->numbers, 3), 10100);
	reader.head_bytes = 700;
	assert_int_equal(dw_fragment_reader_total(&reader, place->numbers, 3), 1500);
	dw_fragment_reader_free(&reader);
	order_tree_free(place);
}

static void long_zeros_end_a_head(void **state)
{
	struct order_tree *place = hollow(UINT64_C(1) << 40);
	struct order_input input = order_tree_input(place, NULL);
	struct fragment_reader reader;
	size_t pieces = 0;

	assert_int_equal(dw_fragment_reader_init(&reader, &input, NULL), 0);
	dw_fragment_reader_begin(&reader, 0);
	while (pieces < 100 && next(&reader) > 0)
		pieces++;
	assert_int_equal(pieces, 16);
	dw_fragment_reader_begin(&reader, 1); /* counted for each fragment */
	assert_int_equal(next(&reader), FRAGMENT_PIECE_BYTES);
	dw_fragment_reader_free(&reader);
	order_tree_free(place);
}

/* The byte at each place of the contents tells which hundred it is in. */
static struct order_tree *hundreds(void)
{
	uint8_t *data = dw_malloc(6 * 1000);
	struct order_tree *place;

	assert_non_null(data);
	for (size_t i = 0; i < 6 * 1000; i++)
		data[i] = (uint8_t)(i % 1000 / 100);
	place = order_tree_with_bytes(data, 1000);
	dw_free(data);
	return place;
}

static void windows_are_all_over_a_fragment(void **state)
{
	struct order_tree *place = hundreds();
	struct order_input input = order_tree_input(place, NULL);
	struct fragment_reader reader;

	assert_int_equal(dw_fragment_reader_init(&reader, &input, NULL), 0);
	reader.head_bytes = 400;
	reader.window_bytes = 100;
	dw_fragment_reader_begin(&reader, 1);
	for (uint8_t window = 0; window < 4; window++) {
		assert_int_equal(next(&reader), 100);
		assert_int_equal(reader.bytes[0], 3 * window);
		assert_int_equal(reader.bytes[99], 3 * window);
	}
	assert_int_equal(next(&reader), 0);
	reader.head_bytes = 1000; /* all of it */
	dw_fragment_reader_begin(&reader, 1);
	assert_int_equal(next(&reader), 1000);
	assert_int_equal(reader.bytes[999], 9);
	assert_int_equal(next(&reader), 0);
	dw_fragment_reader_free(&reader);
	order_tree_free(place);
}

static void zeros_do_not_end_windows(void **state)
{
	struct order_tree *place = hollow(UINT64_C(1) << 40);
	struct order_input input = order_tree_input(place, NULL);
	struct fragment_reader reader;
	size_t pieces = 0;

	assert_int_equal(dw_fragment_reader_init(&reader, &input, NULL), 0);
	reader.head_bytes = 3000;
	reader.window_bytes = 100;
	dw_fragment_reader_begin(&reader, 0);
	while (pieces < 100 && next(&reader) > 0)
		pieces++;
	assert_int_equal(pieces, 30);
	dw_fragment_reader_free(&reader);
	order_tree_free(place);
}

/* Also within a file. */
static void each_piece_can_be_the_last(void **state)
{
	struct order_tree *place = hollow(UINT64_C(1) << 40);
	struct order_input input = order_tree_input(place, NULL);
	struct fragment_reader reader;
	dwarfs_task *task;
	size_t size;

	assert_int_equal(dwarfs_task_new(&task, NULL), 0);
	input.run->progress.task = task;
	assert_int_equal(dw_fragment_reader_init(&reader, &input, NULL), 0);
	dw_fragment_reader_begin(&reader, 0);
	assert_int_equal(next(&reader), FRAGMENT_PIECE_BYTES);
	dwarfs_task_cancel(task);
	assert_int_equal(dw_fragment_reader_next(&reader, &size, NULL),
			 DWARFS_ERR_CANCELLED);
	input.run->progress.task = NULL;
	dw_fragment_reader_free(&reader);
	dwarfs_task_free(task);
	order_tree_free(place);
}

static void zeros_are_no_data(void **state)
{
	static const struct fragment fragment = { .size = 1000 };
	static const struct {
		uint64_t at, data_bytes;
		unsigned zero_pieces;
		uint64_t expected;
	} cases[] = {
		{ 1000, 1000, 0, 1000 }, { 1000, 300, 1, 300 }, { 500, 500, 0, 1000 },
		{ 500, 100, 1, 200 },	 { 500, 0, 3, 0 },	{ 700, 100, 16, 100 },
		{ 0, 0, 0, 1000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fragment_reader reader = {
			.fragment = &fragment,
			.at = cases[i].at,
			.data_bytes = cases[i].data_bytes,
			.zero_pieces = cases[i].zero_pieces,
		};

		assert_int_equal(dw_fragment_reader_data_bytes(&reader),
				 cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_end_where_they_should),
		cmocka_unit_test(a_total_counts_heads_only),
		cmocka_unit_test(long_zeros_end_a_head),
		cmocka_unit_test(windows_are_all_over_a_fragment),
		cmocka_unit_test(zeros_do_not_end_windows),
		cmocka_unit_test(each_piece_can_be_the_last),
		cmocka_unit_test(zeros_are_no_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
