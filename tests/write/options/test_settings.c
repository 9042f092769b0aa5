/* SPDX-License-Identifier: MIT */
/*
 * write/options/settings: values that setters refuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/write_run.h"

static void setters_refuse_nonsense(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 0);

	assert_int_equal(dwarfs_builder_set_level(builder, 10, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 9, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 31, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_order(builder, "fast", NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, "zip", NULL),
		DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_set_codec(builder, 99, "null", NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_set_pack_metadata(builder, "all,nothing", NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_set_pack_metadata(builder, "", NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_set_time_resolution(builder, 0, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_time_resolution(builder, 7, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_time_resolution(builder, 1500000000, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_time(builder, 1, 1000000000, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_umask(builder, 01000, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_add_directory(builder, place->in, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(build(builder, place), 0);
	assert_int_equal(dwarfs_builder_write_path(builder, place->image, true, NULL),
			 DWARFS_ERR_INVALID);
	dwarfs_builder_free(builder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(setters_refuse_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
