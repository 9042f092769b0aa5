/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/file_reader: digests by any algorithm, categories of equal files.
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
#include "write/inspect/sparse_hash.h"

static uint64_t duplicates_with(const struct place *place, const char *hash)
{
	dwarfs_builder *builder = new_builder(place, 2);
	uint64_t duplicates;
	dwarfs_image *image;

	assert_int_equal(dwarfs_builder_set_file_hash(builder, hash, NULL), 0);
	assert_int_equal(build(builder, place), 0);
	duplicates = dwarfs_builder_count(builder, DWARFS_COUNT_DUPLICATES);
	dwarfs_builder_free(builder);
	image = open_image(place);
	expect_text(image, "a", "same");
	expect_text(image, "b", "same");
	expect_text(image, "c", "diff");
	dwarfs_image_free(image);
	assert_int_equal(unlink(place->image), 0);
	return duplicates;
}

static void every_hash_finds_duplicates(void **state)
{
	const char *name;

	put_text(*state, "a", "same");
	put_text(*state, "b", "same");
	put_text(*state, "c", "diff");
	for (size_t i = 0; (name = dwarfs_digest_name(i)) != NULL; i++)
		assert_int_equal(duplicates_with(*state, name), 1);
	assert_int_equal(duplicates_with(*state, "none"), 0);
}

static void unknown_hashes_are_refused(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 0);
	dwarfs_error *err = NULL;

	assert_int_equal(dwarfs_builder_set_file_hash(builder, "crc7", &err),
			 DWARFS_ERR_INVALID);
	assert_non_null(
		strstr(dwarfs_error_message(err), "unknown file hash function: crc7"));
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
}

static int by_name(const dwarfs_input *input, const char **category_out,
		   dwarfs_error **err, void *user)
{
	const char *path = dwarfs_input_path(input);

	if (*path != 'n')
		*category_out = *path == 'x' ? "ex" : "other";
	return 0;
}

static void the_first_of_equal_files_has_the_category(void **state)
{
	const struct place *place = *state;

	put_text(place, "n1", "neither here");
	put_text(place, "n2", "nor there");
	put_text(place, "x1", "twins");
	put_text(place, "y1", "twins");
	put_text(place, "y2", "something");
	for (uint32_t workers = 0; workers < 4; workers++) {
		dwarfs_builder *builder = new_builder(place, workers);
		uint64_t in_bytes[3] = { 0 };

		assert_int_equal(dwarfs_builder_add_category(builder, "ex", NULL), 0);
		assert_int_equal(dwarfs_builder_add_category(builder, "other", NULL), 0);
		dwarfs_builder_set_category_callback(builder, by_name, NULL);
		assert_int_equal(build(builder, place), 0);
		for (size_t i = 0; i < dwarfs_builder_category_count(builder); i++) {
			const char *name = dwarfs_builder_category_name(builder, i);
			uint64_t bytes, stored, packed;
			int at = strcmp(name, "ex") == 0      ? 1
				 : strcmp(name, "other") == 0 ? 2
							      : 0;

			assert_int_equal(dwarfs_builder_category_bytes(builder, i, &bytes,
								       &stored, &packed),
					 0);
			in_bytes[at] += bytes;
		}
		assert_int_equal(in_bytes[0], 21);
		assert_int_equal(in_bytes[1], 5);
		assert_int_equal(in_bytes[2], 9);
		dwarfs_builder_free(builder);
		dwarfs_image_free(open_image(place));
		assert_int_equal(unlink(place->image), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_hash_finds_duplicates),
		TEST(unknown_hashes_are_refused),
		TEST(the_first_of_equal_files_has_the_category),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
