/* SPDX-License-Identifier: MIT */
/*
 * write/digests/block_anchors: the sample depends on the data alone, and is bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "write/digests/block_anchors.h"
#include "write/segment/anchors.h"

#define DATA_BYTES ((size_t)1 << 20)

static uint8_t *data;

static int make_data(void **state)
{
	uint64_t random = 1;

	data = dw_malloc(DATA_BYTES);
	for (size_t i = 0; i < DATA_BYTES; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		data[i] = (uint8_t)(random >> 56);
	}
	return data ? 0 : -1;
}

static int free_data(void **state)
{
	dw_free(data);
	return 0;
}

static void anchors_are_sparse_and_right(void **state)
{
	for (unsigned shift = 6; shift <= 14; shift += 4) {
		struct anchor_list list = { 0 };
		unsigned bits = shift > ANCHOR_SPACING_BITS ? shift : ANCHOR_SPACING_BITS;
		size_t wanted = DATA_BYTES >> bits;

		assert_int_equal(
			dw_anchor_list_find(data, DATA_BYTES, shift, &list, NULL), 0);
		assert_true(list.is_known);
		assert_in_range(list.count, wanted / 2, wanted * 2);
		for (size_t i = 0; i < list.count; i++) {
			assert_true(dw_anchor_hash(data + list.list[i].offset) ==
				    list.list[i].hash);
			assert_true(i == 0 ||
				    list.list[i - 1].offset < list.list[i].offset);
		}
		dw_anchor_list_free(&list);
	}
}

static void data_too_short_has_none(void **state)
{
	struct anchor_list list = { 0 };

	assert_int_equal(dw_anchor_list_find(data, 10, 7, &list, NULL), 0);
	assert_true(list.is_known);
	assert_int_equal(list.count, 0);
	dw_anchor_list_free(&list);
}

/* A list with an anchor for each of some hashes. */
static void make_list(struct anchor_list *list, uint32_t block, size_t count)
{
	*list = (struct anchor_list){ .is_known = true };
	assert_int_equal(dw_grow(&list->list, &list->room, count, NULL), 0);
	for (size_t i = 0; i < count; i++)
		list->list[i] = (struct block_anchor){ (block * (uint64_t)count +
							i) * UINT64_C(0x9E3779B97F4A7C15),
						       (uint32_t)i };
	list->count = count;
}

static void set_list(struct block_anchors *anchors, uint32_t block, size_t count)
{
	struct anchor_list list;

	make_list(&list, block, count);
	assert_int_equal(dw_block_anchors_set(anchors, block, &list, NULL), 0);
	assert_null(list.list);
}

static void the_sample_does_not_depend_on_the_order(void **state)
{
	enum { BLOCKS = 5, EACH = BLOCK_ANCHORS_MOST / 2 };
	struct block_anchors up = { 0 }, down = { 0 };

	for (uint32_t i = 0; i < BLOCKS; i++) {
		set_list(&up, i, EACH);
		set_list(&down, BLOCKS - 1 - i, EACH);
	}
	assert_true(up.sample_bits > 0);
	assert_int_equal(up.sample_bits, down.sample_bits);
	assert_true(up.total <= BLOCK_ANCHORS_MOST);
	assert_int_equal(up.total, down.total);
	assert_int_equal(dw_block_anchors_count(&up, up.sample_bits), up.total);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		assert_true(up.blocks[i].is_known);
		assert_int_equal(up.blocks[i].count, down.blocks[i].count);
		for (size_t j = 0; j < up.blocks[i].count; j++)
			assert_int_equal(up.blocks[i].list[j].offset,
					 down.blocks[i].list[j].offset);
	}
	dw_block_anchors_free(&up);
	dw_block_anchors_free(&down);
}

static void blocks_are_replaced_and_left_out(void **state)
{
	struct block_anchors anchors = { 0 };

	set_list(&anchors, 2, 10);
	set_list(&anchors, 2, 3);
	assert_int_equal(anchors.count, 3);
	assert_int_equal(anchors.total, 3);
	assert_false(anchors.blocks[0].is_known);
	assert_true(dw_block_anchors_count(&anchors, 60) < 3);
	dw_block_anchors_free(&anchors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anchors_are_sparse_and_right),
		cmocka_unit_test(data_too_short_has_none),
		cmocka_unit_test(the_sample_does_not_depend_on_the_order),
		cmocka_unit_test(blocks_are_replaced_and_left_out),
	};

	return cmocka_run_group_tests(tests, make_data, free_data);
}
