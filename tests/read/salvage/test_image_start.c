/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/image_start: the start and version of an image whose first header or index
 * is damaged.
 */
#include "read/salvage/salvage.h"
#include "support/craft.h"
#include "support/one_file.h"

/* An image of which only the source is known. */
static void begin(struct dwarfs_image *image, const void *bytes, size_t size)
{
	memset(image, 0, sizeof(*image));
	assert_int_equal(dwarfs_io_from_memory(bytes, size, NULL, NULL, &image->io, NULL),
			 0);
	image->bytes = size;
	image->minor = 5;
}

#define PREFIX	     "#!/bin/sh\n"
#define PREFIX_BYTES (sizeof(PREFIX) - 1)

static int64_t start_of(const void *bytes, size_t size)
{
	struct dwarfs_image image;
	int ret;

	begin(&image, bytes, size);
	ret = dw_salvage_start(&image, NULL);
	dw_free(image.sections);
	dw_free(image.blocks);
	dwarfs_io_free(image.io);
	return ret < 0 ? ret : (int64_t)image.start;
}

/* The magic of the first section and a byte of the index, each damaged or not. */
static void the_index_or_the_first_header_gives_the_start(void **state)
{
	for (int damage = 0; damage < 3; damage++) {
		uint8_t bytes[PREFIX_BYTES + sizeof(one_file)];

		memcpy(bytes, PREFIX, PREFIX_BYTES);
		memcpy(bytes + PREFIX_BYTES, one_file, sizeof(one_file));
		if (damage == 1)
			memset(bytes + PREFIX_BYTES, 0, 8);
		if (damage == 2)
			bytes[sizeof(bytes) - 1] ^= 1;
		assert_int_equal(start_of(bytes, sizeof(bytes)), PREFIX_BYTES);
	}
}

/* Without both, the start is that of the source. */
static void without_both_the_image_is_the_source(void **state)
{
	uint8_t bytes[sizeof(one_file)];

	memcpy(bytes, one_file, sizeof(bytes));
	memset(bytes, 0, 8);
	bytes[sizeof(bytes) - 1] ^= 1;
	assert_int_equal(start_of(bytes, sizeof(bytes)), 0);
	/* Also if the first section cannot be verified. */
	bytes[64] ^= 1;
	assert_int_equal(start_of(bytes, sizeof(bytes)), 0);
}

/* The block of the outer image is an image, too. */
static void an_image_in_a_file_is_not_the_image(void **state)
{
	for (int has_index = 0; has_index < 2; has_index++) {
		auto_craft struct craft craft = { 0 };

		craft_section(&craft, DWARFS_SECTION_BLOCK, 0, one_file,
			      sizeof(one_file));
		craft_section(&craft, DWARFS_SECTION_SCHEMA, 0,
			      one_file + ONE_FILE_SCHEMA + 64, 552);
		craft_section(&craft, DWARFS_SECTION_METADATA, 0,
			      one_file + ONE_FILE_METADATA + 64, 36);
		if (has_index)
			craft_index(&craft, 0);
		assert_int_equal(start_of(craft.bytes.data, craft.bytes.size), 0);
		memset(craft.bytes.data, 0, 8);
		assert_int_equal(start_of(craft.bytes.data, craft.bytes.size), 0);
	}
}

static void other_bytes_are_no_image(void **state)
{
	uint8_t bytes[1000] = { 0 };

	assert_int_equal(start_of(bytes, sizeof(bytes)), DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(start_of(bytes, 1), DWARFS_ERR_NOT_IMAGE);
	/* A magic alone does not suffice. */
	memcpy(bytes + 100, one_file, 64);
	assert_int_equal(start_of(bytes, sizeof(bytes)), DWARFS_ERR_NOT_IMAGE);
}

static void the_version_is_that_of_the_first_valid_header(void **state)
{
	uint8_t bytes[sizeof(one_file)];
	struct dwarfs_image image;

	memcpy(bytes, one_file, sizeof(bytes));
	memset(bytes, 0, 8);
	begin(&image, bytes, sizeof(bytes));
	image.minor = 0;
	assert_int_equal(dw_salvage_version(&image, NULL), 0);
	assert_int_equal(image.minor, 5);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(dw_salvage_version(&image, NULL), DWARFS_ERR_NOT_IMAGE);
	dwarfs_io_free(image.io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_index_or_the_first_header_gives_the_start),
		cmocka_unit_test(without_both_the_image_is_the_source),
		cmocka_unit_test(an_image_in_a_file_is_not_the_image),
		cmocka_unit_test(other_bytes_are_no_image),
		cmocka_unit_test(the_version_is_that_of_the_first_valid_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
