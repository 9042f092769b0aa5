/* SPDX-License-Identifier: MIT */
/*
 * write/options/metadata_options: times as fine as the resolution.
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

static void times_are_cut_to_the_resolution(void **state)
{
	const struct place *place = *state;
	const struct timespec times[2] = { { 1000000007, 123456789 },
					   { 1000000007, 123456789 } };
	static const struct {
		uint64_t resolution_ns;
		uint64_t seconds;
		uint32_t nanoseconds;
	} examples[] = {
		{ 1, 1000000007, 123456789 },
		{ 1000000, 1000000007, 123000000 },
		{ 1000000000, 1000000007, 0 },
		{ UINT64_C(60000000000), 999999960, 0 },
	};

	put_text(place, "file", "x");
	assert_int_equal(utimensat(AT_FDCWD, in(place, "file"), times, 0), 0);
	for (size_t i = 0; i < 4; i++) {
		dwarfs_builder *builder = new_builder(place, 0);
		dwarfs_stat *stat = NULL;
		dwarfs_image *image;

		assert_int_equal(dwarfs_builder_set_time_resolution(
					 builder, examples[i].resolution_ns, NULL),
				 0);
		dwarfs_builder_set_keep_all_times(builder, i % 2);
		assert_int_equal(
			dwarfs_builder_write_path(builder, place->image, true, NULL), 0);
		dwarfs_builder_free(builder);
		image = open_image(place);
		assert_int_equal(dwarfs_image_time_resolution_ns(image),
				 examples[i].resolution_ns);
		assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
		assert_int_equal(dwarfs_inode_stat(image, expect_text(image, "file", "x"),
						   stat, NULL),
				 0);
		assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME),
				 examples[i].seconds);
		assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_MTIME),
				 examples[i].nanoseconds);
		dwarfs_stat_free(stat);
		dwarfs_image_free(image);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(times_are_cut_to_the_resolution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
