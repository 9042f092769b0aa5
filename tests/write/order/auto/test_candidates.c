/* SPDX-License-Identifier: MIT */
/*
 * order/auto/candidates: the order with the lowest forecast is chosen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/write_run.h"
#include "write/order/auto/candidates.h"

#define DAYS	  4
#define DAY_FILES 64
#define DAY_BYTES 72000

/* As put_releases(), but each directory is larger than the minimum for directories read
 * as a whole, and smaller than a block. */
static void put_days(const struct place *place)
{
	uint8_t *data = malloc(DAY_BYTES);
	uint32_t random = 1;
	char name[32];

	for (unsigned day = 0; day < DAYS; day++) {
		snprintf(name, sizeof(name), "day%u", day);
		put_dir(place, name);
		for (unsigned f = 0; f < DAY_FILES; f++) {
			for (size_t i = 0; i < DAY_BYTES; i++) {
				random =
					random * UINT32_C(1664525) + UINT32_C(1013904223);
				data[i] = (uint8_t)(random >> 24);
			}
			snprintf(name, sizeof(name), "day%u/file%02u", day, f);
			put_file(place, name, data, DAY_BYTES);
		}
	}
	free(data);
}

/* The number of blocks per directory is also forecast if blocks are larger than
 * directories. */
static void spread_is_seen_in_large_blocks(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 0);
	const char *by_name;
	double times = 0;

	put_days(place);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 23, NULL), 0);
	assert_int_equal(dwarfs_builder_set_order(builder, "auto", NULL), 0);
	assert_int_equal(build(builder, place), 0);
	dwarfs_builder_free(builder);
	by_name = strstr(all_messages(), "order siblings by name: ");
	assert_non_null(by_name);
	assert_int_equal(
		sscanf(by_name, "order siblings by name: score %*u KiB, %lf", &times), 1);
	/* Ordered by path a directory is in one or two of the three blocks, next to its
	 * versions in all three. */
	assert_true(times >= 1.5);
	dwarfs_image_free(open_image(place));
}

static void spread_counts_where_blocks_are_read_again(void **state)
{
	const double cached = 200e6, large = 600e6;

	(void)state;
	assert_true(dw_spread_penalty((uint64_t)16 << 20, large) > 0);
	assert_true(dw_spread_penalty((uint64_t)16 << 20, cached) == 0);
	assert_true(dw_spread_penalty((uint64_t)64 << 20, large) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spread_counts_where_blocks_are_read_again),
		cmocka_unit_test_setup_teardown(spread_is_seen_in_large_blocks,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
