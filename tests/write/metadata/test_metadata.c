/* SPDX-License-Identifier: MIT */
/*
 * write/metadata: the metadata read the same with every packing of the tables.
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

static uint64_t finish(dwarfs_builder *builder, int count)
{
	uint64_t value = dwarfs_builder_count(builder, count);

	dwarfs_builder_free(builder);
	return value;
}

static void all_packings_read_the_same(void **state)
{
	static const char *const packings[] = { "none",	 "auto",	"all",
						"plain", "all,force",	"plain,all,force",
						"names", "names_index", "chunk_table",
						"force", "directories", "shared_files" };
	const struct place *place = *state;

	put_dir(place, "dir");
	put_dir(place, "dir/deeper");
	put_text(place, "same1", "same");
	put_text(place, "dir/same2", "same");
	put_text(place, "dir/deeper/same3", "same");
	put_text(place, "dir/other", "other");
	assert_int_equal(symlink("dir/other", in(place, "link")), 0);
	for (size_t i = 0; i < sizeof(packings) / sizeof(packings[0]); i++) {
		dwarfs_builder *builder = new_builder(place, 0);
		dwarfs_image *image;

		assert_int_equal(
			dwarfs_builder_set_pack_metadata(builder, packings[i], NULL), 0);
		assert_int_equal(
			dwarfs_builder_write_path(builder, place->image, true, NULL), 0);
		dwarfs_builder_free(builder);
		image = open_image(place);
		expect_text(image, "same1", "same");
		expect_text(image, "dir/deeper/same3", "same");
		expect_text(image, "dir/other", "other");
		assert_int_equal(dwarfs_image_entry_count(image), 8);
		dwarfs_image_free(image);
	}
}

static void an_empty_directory_is_an_image(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	dwarfs_image *image;

	assert_int_equal(build(builder, place), 0);
	assert_int_equal(finish(builder, DWARFS_COUNT_BLOCKS), 0);
	image = open_image(place);
	assert_int_equal(dwarfs_image_inode_count(image), 1);
	dwarfs_image_free(image);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_packings_read_the_same),
		TEST(an_empty_directory_is_an_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
