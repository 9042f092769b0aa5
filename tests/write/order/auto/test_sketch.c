/* SPDX-License-Identifier: MIT */
/*
 * order/auto/sketch: equal bytes have equal shingles, wherever they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "support/order_tree.h"
#include "support/random.h"
#include "write/input/source.h"
#include "write/order/auto/sketch.h"

#define SIZE 100000

/* The number of equal long shingles of two files. */
static size_t count_common(const struct sketch *sketch, uint32_t a, uint32_t b)
{
	const struct sketch_piece *one = &sketch->pieces[a], *two = &sketch->pieces[b];
	size_t common = 0;

	for (uint32_t i = 0; i < one->count; i++) {
		uint32_t id = sketch->shingles[one->first + i].ids[SHINGLE_LONG];
		bool found = false;

		for (uint32_t j = 0; j < two->count && id != DW_NONE; j++)
			found |= sketch->shingles[two->first + j].ids[SHINGLE_LONG] == id;
		common += found;
	}
	return common;
}

/* What occurs once is found by its short shingles only. */
static void expect_numbers(const struct sketch *sketch, uint32_t file, bool occurs_again)
{
	const struct sketch_piece *piece = &sketch->pieces[file];

	for (uint32_t i = 0; i < piece->count; i++) {
		const uint32_t *ids = sketch->shingles[piece->first + i].ids;

		assert_true(ids[SHINGLE_SHORT] < sketch->id_counts[SHINGLE_SHORT]);
		assert_int_equal(ids[SHINGLE_MEDIUM] != DW_NONE, occurs_again);
		if (occurs_again)
			assert_true(ids[SHINGLE_MEDIUM] <
				    sketch->id_counts[SHINGLE_MEDIUM]);
		else
			assert_int_equal(ids[SHINGLE_LONG], DW_NONE);
	}
}

static void common_bytes_have_common_shingles(void **state)
{
	uint8_t *data = dw_malloc(6 * SIZE);
	struct sketch sketch = { 0 };
	struct order_tree *place;
	struct order_input input;
	uint32_t seed = 3;

	assert_non_null(data);
	for (uint32_t i = 0; i < 6 * SIZE; i++)
		data[i] = (uint8_t)next_random(&seed);
	memcpy(data + 4 * SIZE, data + SIZE, SIZE);
	memcpy(data + 5 * SIZE + 777, data + SIZE, SIZE / 2); /* half, moved */
	place = order_tree_with_bytes(data, SIZE);
	input = order_tree_input(place, NULL);
	assert_int_equal(dw_sketch_make(&input, place->numbers, 6, 4096, &sketch, NULL),
			 0);
	assert_in_range(sketch.count, 600, 4096);
	for (uint32_t i = 0; i < 6; i++)
		assert_in_range(sketch.pieces[i].count, 50, 4096);
	assert_int_equal(sketch.pieces[4].count, sketch.pieces[1].count);
	assert_memory_equal(&sketch.shingles[sketch.pieces[4].first],
			    &sketch.shingles[sketch.pieces[1].first],
			    sketch.pieces[1].count * sizeof(struct shingle));
	assert_int_equal(count_common(&sketch, 0, 1), 0);
	assert_int_equal(count_common(&sketch, 2, 3), 0);
	assert_in_range(count_common(&sketch, 5, 1), sketch.pieces[1].count / 4,
			sketch.pieces[1].count * 3 / 4);
	assert_in_range(sketch.id_counts[SHINGLE_LONG], sketch.pieces[1].count / 2,
			sketch.pieces[1].count);
	expect_numbers(&sketch, 0, false);
	sketch.pieces[1].count -= 2; /* less those that may end with the data */
	expect_numbers(&sketch, 1, true);
	dw_sketch_free(&sketch);
	order_tree_free(place);
	dw_free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(common_bytes_have_common_shingles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
