/* SPDX-License-Identifier: MIT */
/*
 * order/auto/chunk_cost: the bits of chunks, and that regular ones take little when packed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/order/auto/chunk_cost.h"

#define COUNT 20000

static void hole_and_chunks_take_the_bits_of_the_largest(void **state)
{
	struct chunk list[] = {
		{ .block = 3, .offset = 1 << 20, .size = 7 },
		{ .block = DW_NONE, .size = UINT64_C(1) << 60 },
		{ .block = 4, .offset = 0, .size = 1000 },
	};
	const struct chunks chunks = { .list = list, .count = 3 };
	struct chunk_bits bits;

	(void)state;
	dw_chunk_bits(&chunks, &bits);
	assert_int_equal(bits.block, 3);
	assert_int_equal(bits.offset, 21);
	assert_int_equal(bits.size, 10);
	assert_int_equal(dw_chunks_bytes(&chunks, &bits), (3 * 34 + 7) / 8);
}

static uint64_t packed_bytes(const struct chunks *chunks, size_t piece_bytes)
{
	struct chunk_bits bits;
	struct codec_spec spec;
	uint64_t bytes;

	assert_int_equal(dw_codec_parse("zstd:level=3", &spec, NULL), 0);
	dw_chunk_bits(chunks, &bits);
	assert_int_equal(
		dw_chunks_packed_bytes(chunks, &bits, &spec, piece_bytes, &bytes, NULL),
		0);
	return bytes;
}

static void regular_chunks_are_smaller_than_random_ones(void **state)
{
	struct chunk *list = dw_calloc(COUNT, sizeof(*list));
	const struct chunks chunks = { .list = list, .count = COUNT };
	struct chunk_bits bits;
	uint64_t regular, pieces, random_bytes, stored;
	uint32_t random = 1;

	(void)state;
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	assert_non_null(list);
	for (size_t i = 0; i < COUNT; i++)
		list[i] = (struct chunk){ (uint32_t)(i / 5000), (uint32_t)(i % 16) << 20,
					  4096 };
	regular = packed_bytes(&chunks, 1 << 20);
	pieces = packed_bytes(&chunks, 1 << 12);
	for (size_t i = 0; i < COUNT; i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		list[i].offset = random >> 8;
	}
	random_bytes = packed_bytes(&chunks, 1 << 20);
	dw_chunk_bits(&chunks, &bits);
	stored = dw_chunks_bytes(&chunks, &bits);
	assert_true(regular < stored / 50);
	assert_in_range(pieces, regular, stored / 10);
	assert_in_range(random_bytes, COUNT * 3, stored + COUNT);
	dw_free(list);
}

static void no_chunks_take_nothing(void **state)
{
	struct chunk hole = { .block = DW_NONE, .size = 5 };
	const struct chunks none = { 0 }, holes = { .list = &hole, .count = 1 };

	(void)state;
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	assert_int_equal(packed_bytes(&none, 4096), 0);
	assert_int_equal(packed_bytes(&holes, 4096), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hole_and_chunks_take_the_bits_of_the_largest),
		cmocka_unit_test(regular_chunks_are_smaller_than_random_ones),
		cmocka_unit_test(no_chunks_take_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
