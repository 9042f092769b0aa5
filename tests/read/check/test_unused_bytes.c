/* SPDX-License-Identifier: MIT */
/*
 * read/check/unused_bytes: bytes of blocks that no chunk refers to.
 */
#include "support/craft.h"

#define BLOCK_BYTES 4096
#define BLOCKS	    5
#define HOLE_BLOCK  6

static const uint32_t sizes[BLOCKS] = { 4096, 4096, 1000, 4096, 10 };

static void make(struct craft *craft, uint32_t bad_codec)
{
	static const struct craft_chunk chunks[] = {
		{ 3, 4000, 96 }, /* the end */
		{ 0, 0, 4096 },	 /* all of it */
		{ 0, 10, 5 },	 /* within another one */
		{ HOLE_BLOCK, 0, 7000 },
		{ 2, 100, 300 },
		{ 2, 300, 200 }, /* they overlap */
		{ 2, 900, 500 }, /* beyond the end */
		{ 3, 0, 1 },
	};
	static const uint32_t table[] = { 0, 2, 4, 8 };
	static const uint8_t bytes[BLOCK_BYTES];

	for (uint32_t i = 0; i < BLOCKS; i++)
		craft_section(craft, DWARFS_SECTION_BLOCK, i == 3 ? bad_codec : 0, bytes,
			      sizes[i]);
	craft_files(craft, chunks, table, 3, BLOCK_BYTES, HOLE_BLOCK);
}

static void each_byte_counts_once(void **state)
{
	static const uint64_t wanted[BLOCKS] = { 0, 4096, 1000 - 400 - 100, 4096 - 96 - 1,
						 10 };
	auto_craft struct craft craft = { 0 };
	dwarfs_image *image;
	uint64_t unused[BLOCKS];

	make(&craft, 0);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_image_unused_bytes(image, unused, BLOCKS, NULL), 0);
	for (int i = 0; i < BLOCKS; i++)
		assert_int_equal(unused[i], wanted[i]);
	dwarfs_image_free(image);
}

static void an_unknown_codec(void **state)
{
	auto_craft struct craft craft = { 0 };
	dwarfs_image *image;
	uint64_t unused[BLOCKS];

	make(&craft, 999);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_image_unused_bytes(image, unused, BLOCKS, NULL), 0);
	assert_int_equal(unused[3], 0);
	assert_int_equal(unused[1], 4096);
	dwarfs_image_free(image);
}

static void bad_chunks_and_arguments(void **state)
{
	static const struct craft_chunk chunk = { 1, 0, 1 };
	static const uint32_t table[] = { 0, 1 };
	auto_craft struct craft craft = { 0 };
	dwarfs_image *image;
	uint64_t unused[2];

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, "byte", 4);
	craft_files(&craft, &chunk, table, 1, BLOCK_BYTES, 0);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_image_unused_bytes(image, unused, 1, NULL), 0);
	assert_int_equal(unused[0], 4); /* the chunk is in a block that does not exist */
	assert_int_equal(dwarfs_image_unused_bytes(image, unused, 2, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_unused_bytes(image, NULL, 1, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_image_unused_bytes(NULL, unused, 1, NULL),
			 DWARFS_ERR_INVALID);
	dwarfs_image_free(image);
}

static void an_image_without_blocks(void **state)
{
	static const uint32_t table[] = { 0, 0 };
	auto_craft struct craft craft = { 0 };
	dwarfs_image *image;

	craft_files(&craft, NULL, table, 1, BLOCK_BYTES, 0);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_image_unused_bytes(image, NULL, 0, NULL), 0);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_counts_once),
		cmocka_unit_test(an_unknown_codec),
		cmocka_unit_test(bad_chunks_and_arguments),
		cmocka_unit_test(an_image_without_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
