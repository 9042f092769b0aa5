/* SPDX-License-Identifier: MIT */
/*
 * write/segment/density: how well samples of a stream compress.
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
#include "write/segment/density.h"

#define SIZE 100000

static uint32_t density_of(const uint8_t *data)
{
	struct order_tree *place = order_tree_with_bytes(data, SIZE);
	uint32_t density = 0;

	assert_int_equal(dw_density(&place->run, &place->tree, &place->contents,
				    place->numbers, place->contents.count, &density,
				    NULL),
			 0);
	order_tree_free(place);
	return density;
}

static void a_density_follows_the_bytes(void **state)
{
	uint8_t *data = dw_malloc(6 * SIZE);
	struct codec_spec spec;
	uint32_t seed = 5;

	assert_non_null(data);
	if (dw_codec_parse("zstd", &spec, NULL) < 0 &&
	    dw_codec_parse("lzma", &spec, NULL) < 0) {
		dw_free(data);
		skip();
	}
	memset(data, 'x', 6 * SIZE);
	assert_in_range(density_of(data), 1, 20);
	for (size_t i = 0; i < 6 * SIZE; i++)
		data[i] = (uint8_t)next_random(&seed);
	assert_in_range(density_of(data), 1000, DENSITY_UNIT);
	for (size_t i = 0; i < 6 * SIZE; i++)
		data[i] = (uint8_t)(next_random(&seed) & 15);
	assert_in_range(density_of(data), 450, 620);
	dw_free(data);
}

static void without_bytes_it_is_that_of_text(void **state)
{
	struct order_tree *place = order_tree_small();
	uint32_t density = 0;

	assert_int_equal(dw_density(&place->run, &place->tree, &place->contents, NULL, 0,
				    &density, NULL),
			 0);
	assert_int_equal(density, DENSITY_UNIT / 4);
	order_tree_free(place);
}

/* Fragments of two groups in turns: random bytes, and zeros. */
static void a_group_has_its_own_density(void **state)
{
	static uint8_t data[6 * SIZE];
	struct order_tree *place;
	uint32_t random = 1, density[3];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = i / SIZE % 2 ? 0 : (uint8_t)(random >> 24);
	}
	place = order_tree_with_bytes(data, SIZE);
	for (size_t i = 0; i < 6; i++)
		place->contents.fragments[i].group = i % 2;
	for (uint32_t group = 0; group < 3; group++)
		assert_int_equal(dw_group_density(&place->run, &place->tree,
						  &place->contents, place->numbers, 6,
						  group, &density[group], NULL),
				 0);
	assert_int_equal(density[0], DENSITY_UNIT);
	assert_in_range(density[1], 1, DENSITY_UNIT / 20);
	assert_int_equal(density[2], DENSITY_UNIT / 4); /* nothing is in it */
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_density_follows_the_bytes),
		cmocka_unit_test(without_bytes_it_is_that_of_text),
		cmocka_unit_test(a_group_has_its_own_density),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
