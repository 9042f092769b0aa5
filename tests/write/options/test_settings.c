/* SPDX-License-Identifier: MIT */
/*
 * write/options/settings: the settings of each category, and values that setters refuse.
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
#include "write/builder.h"
#include "write/categorize/categorize.h"
#include "write/order/order.h"

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
	for (int use = DWARFS_CODEC_METADATA; use <= DWARFS_CODEC_HISTORY; use++)
		assert_true(dwarfs_builder_set_codec(builder, use, "flac", NULL) < 0);
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

static void overrides_are_applied_after_the_level(void **state)
{
	dwarfs_builder *builder = NULL;
	const struct stream_settings *settings;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(dwarfs_builder_set_window(builder, NULL, 12, NULL), 0);
	assert_int_equal(dwarfs_builder_set_window(builder, "binary/elf", 14, NULL), 0);
	assert_int_equal(dwarfs_builder_set_lookback(builder, "binary/elf", 3, NULL), 0);
	assert_int_equal(
		dwarfs_builder_set_category_order(builder, "binary/pe", "revpath", NULL),
		0);
	assert_int_equal(dwarfs_builder_set_category_codec(builder, "incompressible",
							   "null", NULL),
			 0);
	assert_int_equal(dwarfs_builder_set_level(builder, 1, NULL), 0);
	assert_int_equal(dw_settings_resolve(builder, NULL), 0);
	settings = builder->settings;
	assert_int_equal(settings[CATEGORY_DEFAULT].window_bits, 12);
	assert_int_equal(settings[CATEGORY_ELF].window_bits, 14);
	assert_int_equal(settings[CATEGORY_ELF].lookback, 3);
	assert_int_equal(settings[CATEGORY_PE].window_bits, 12);
	assert_true(settings[CATEGORY_PE].lookback == UINT32_MAX);
	assert_ptr_equal(settings[CATEGORY_PE].order.ops, &dw_order_revpath);
	assert_ptr_equal(settings[CATEGORY_ELF].order.ops, &dw_order_path);
	assert_int_equal(builder->options.block_bits, 20);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 22, NULL), 0);
	assert_int_equal(dwarfs_builder_set_level(builder, 9, NULL), 0);
	assert_int_equal(dw_settings_resolve(builder, NULL), 0);
	assert_int_equal(builder->options.block_bits, 22);
	assert_true(builder->settings[0].foreign_blocks == UINT32_MAX);
	dwarfs_builder_free(builder);
}

static void values_out_of_range_are_refused(void **state)
{
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(dwarfs_builder_set_window(builder, NULL, 25, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_window_step(builder, NULL, 9, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_window(builder, "nothing", 12, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_set_compress_niceness(builder, 20, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_compress_niceness(builder, -1, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(builder->options.compress_niceness >= 0, 1);
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(overrides_are_applied_after_the_level),
		TEST(values_out_of_range_are_refused),
		TEST(setters_refuse_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
