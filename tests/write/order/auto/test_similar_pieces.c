/* SPDX-License-Identifier: MIT */
/*
 * order/auto/similar_pieces: a piece follows the piece of another file that it resembles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "support/order_tree.h"
#include "support/random.h"
#include "write/order/auto/similar_pieces.h"

#define PIECES 6
#define SIZE   ((size_t)100000)

static void put_random(uint8_t *data, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)next_random(&seed);
}

/* The same but for four bytes of each 24. */
static void put_variant(uint8_t *data, const uint8_t *of, size_t size, uint32_t seed)
{
	memcpy(data, of, size);
	for (size_t i = 0; i + 24 <= size; i += 24)
		put_random(data + i, 4, seed + (uint32_t)i);
}

/* The contents of six files, each a piece. */
static void find(const uint8_t *data, uint32_t similar[PIECES])
{
	struct order_tree *place = order_tree_with_bytes(data, SIZE);
	struct order_input input = order_tree_input(place, NULL);
	struct sketch sketch = { 0 };

	assert_int_equal(dw_sketch_make(&input, place->numbers, PIECES,
					SKETCH_MAX_SHINGLES, &sketch, NULL),
			 0);
	assert_int_equal(dw_find_similar_pieces(&input, &sketch, place->numbers, PIECES,
						similar, NULL),
			 0);
	dw_sketch_free(&sketch);
	order_tree_free(place);
}

static uint8_t *new_data(void)
{
	uint8_t *data = dw_malloc(PIECES * SIZE);

	assert_non_null(data);
	put_random(data, PIECES * SIZE, 7);
	return data;
}

static void variants_are_found(void **state)
{
	static const uint32_t none[PIECES] = { DW_NONE, DW_NONE, DW_NONE,
					       DW_NONE, DW_NONE, DW_NONE };
	static const uint32_t some[PIECES] = { DW_NONE, DW_NONE, DW_NONE, DW_NONE, 1, 2 };
	uint8_t *data = new_data();
	uint32_t similar[PIECES];

	(void)state;
	find(data, similar);
	assert_memory_equal(similar, none, sizeof(none));
	put_variant(data + 4 * SIZE, data + SIZE, SIZE, 1);
	put_variant(data + 5 * SIZE, data + 2 * SIZE, SIZE, 2);
	find(data, similar);
	assert_memory_equal(similar, some, sizeof(some));
	dw_free(data);
}

/* Of three versions, each resembles the one before. */
static void versions_make_a_chain(void **state)
{
	static const uint32_t chain[PIECES] = {
		DW_NONE, DW_NONE, 0, DW_NONE, 2, DW_NONE
	};
	uint8_t *data = new_data();
	uint32_t similar[PIECES];

	(void)state;
	put_variant(data + 2 * SIZE, data, SIZE, 1);
	put_variant(data + 4 * SIZE, data + 2 * SIZE, SIZE, 2);
	find(data, similar);
	assert_memory_equal(similar, chain, sizeof(chain));
	dw_free(data);
}

static void expect_order(const uint32_t *similar, uint64_t max_bytes,
			 const uint32_t *wanted)
{
	struct order_tree *place = order_tree_small();
	struct order_input input = order_tree_input(place, NULL);
	uint32_t ordered[PIECES];

	assert_int_equal(dw_group_similar_pieces(&input, place->numbers, similar, PIECES,
						 max_bytes, ordered, NULL),
			 0);
	assert_memory_equal(ordered, wanted, sizeof(ordered));
	order_tree_free(place);
}

/* Each piece has 1000 bytes. */
static void groups_keep_the_order(void **state)
{
	static const uint32_t similar[PIECES] = { DW_NONE, DW_NONE, 0, 1, 0, 2 };

	(void)state;
	expect_order(similar, 4000, (const uint32_t[]){ 0, 2, 5, 4, 1, 3 });
	expect_order(similar, 1000, (const uint32_t[]){ 0, 1, 2, 3, 4, 5 });
	/* What is too much begins a group of its own, where it was. */
	expect_order(similar, 2000, (const uint32_t[]){ 0, 2, 1, 3, 4, 5 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variants_are_found),
		cmocka_unit_test(versions_make_a_chain),
		cmocka_unit_test(groups_keep_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
