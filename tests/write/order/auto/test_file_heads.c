/* SPDX-License-Identifier: MIT */
/*
 * order/auto/file_heads: fingerprints of parts of files, for orders that need other
 * fingerprints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/order_tree.h"
#include "write/input/source.h"
#include "write/order/auto/file_heads.h"

#define SIZE 20000

/* Files 1, 3 and 5 have other bytes than 0, 2 and 4. */
static void files_of_one_kind_are_side_by_side(void **state)
{
	uint8_t *data = dw_malloc(6 * SIZE);
	struct order_tree *place;
	struct order_input input;
	struct order_spec spec;
	bool sorted = false;

	assert_non_null(data);
	for (uint32_t i = 0; i < 6 * SIZE; i++)
		data[i] = (uint8_t)((i / SIZE % 2 ? 'a' : '0') + i % SIZE % 7 % 4);
	place = order_tree_with_bytes(data, SIZE);
	input = order_tree_input(place, NULL);
	assert_int_equal(dw_order_parse("similarity", &spec, NULL), 0);
	assert_int_equal(
		dw_order_by_heads(&input, &spec, place->numbers, 6, &sorted, NULL), 0);
	assert_true(sorted);
	for (size_t i = 1; i < 6; i++)
		assert_int_equal(place->numbers[i] % 2 == place->numbers[i - 1] % 2,
				 i != 3);
	/* the fingerprints of the contents are unchanged */
	for (size_t i = 0; i < FINGERPRINT_BYTES; i++)
		assert_int_equal(place->contents.fingerprints[3].bytes[i], 0);
	dw_order_spec_free(&spec);
	order_tree_free(place);
	dw_free(data);
}

/* 64 pieces of 4 KiB are read of each file. */
#define PIECE_BYTES 4096
#define STEP_BYTES  5376
#define LARGE_SIZE  (63 * STEP_BYTES + PIECE_BYTES)

/* Whether files that differ in parts only are sorted by them. */
static bool sorts_by_all_bytes(struct order_tree *place, const char *order,
			       enum codec_speed speed)
{
	struct order_input input = order_tree_input(place, NULL);
	struct order_spec spec;
	bool sorted = false, by_kind = true;

	input.speed = speed;
	for (uint32_t i = 0; i < 6; i++)
		place->numbers[i] = i;
	assert_int_equal(dw_order_parse(order, &spec, NULL), 0);
	assert_int_equal(
		dw_order_by_heads(&input, &spec, place->numbers, 6, &sorted, NULL), 0);
	assert_true(sorted);
	dw_order_spec_free(&spec);
	for (size_t i = 1; i < 6; i++)
		by_kind &=
			(place->numbers[i] % 2 == place->numbers[i - 1] % 2) == (i != 3);
	return by_kind;
}

/* The fingerprints for similarity take little time, those for nilsimsa more. */
static void bytes_used_depend_on_the_order_and_the_codec(void **state)
{
	uint8_t *data = dw_malloc(6 * LARGE_SIZE);
	struct order_tree *place;

	assert_non_null(data);
	for (uint32_t i = 0; i < 6 * LARGE_SIZE; i++) {
		uint32_t at = i % LARGE_SIZE;
		bool other = i / LARGE_SIZE % 2 && at % STEP_BYTES >= PIECE_BYTES;

		data[i] = (uint8_t)((other ? 'a' : '0') + at % 7 % 4);
	}
	place = order_tree_with_bytes(data, LARGE_SIZE);
	assert_true(sorts_by_all_bytes(place, "similarity", CODEC_SLOW));
	assert_true(sorts_by_all_bytes(place, "similarity", CODEC_MEDIUM));
	assert_true(sorts_by_all_bytes(place, "similarity", CODEC_FAST));
	assert_true(sorts_by_all_bytes(place, "nilsimsa", CODEC_SLOW));
	assert_false(sorts_by_all_bytes(place, "nilsimsa", CODEC_MEDIUM));
	assert_false(sorts_by_all_bytes(place, "nilsimsa", CODEC_FAST));
	order_tree_free(place);
	dw_free(data);
}

static void too_many_bytes_are_not_read(void **state)
{
	struct order_tree *place = order_tree_new();
	char *names = dw_malloc(8 * 270000 + 1);
	struct order_input input;
	struct order_spec spec;
	bool sorted = true;
	size_t count;

	assert_non_null(names);
	for (size_t i = 0; i < 270000; i++)
		snprintf(names + 8 * i, 9, "%07zu ", i);
	order_tree_fill(place, names);
	count = order_tree_add_contents(place);
	for (size_t i = 0; i < count; i++) /* 4 KiB of each are more than 1 GiB */
		place->contents.fragments[i].size = 1 << 20;
	input = order_tree_input(place, NULL);
	assert_int_equal(dw_order_parse("similarity", &spec, NULL), 0);
	assert_int_equal(
		dw_order_by_heads(&input, &spec, place->numbers, count, &sorted, NULL),
		0);
	assert_false(sorted);
	assert_int_equal(place->numbers[count - 1], count - 1);
	order_tree_free(place);
	dw_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_one_kind_are_side_by_side),
		cmocka_unit_test(bytes_used_depend_on_the_order_and_the_codec),
		cmocka_unit_test(too_many_bytes_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
