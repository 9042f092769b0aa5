/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/section_search: sections of an image without an index, some of whose
 * headers are damaged.
 */
#include "read/image/image.h"
#include "read/known.h"

#include <dwarfs/salvage.h>

static const size_t offsets[] = { 0, ONE_FILE_SCHEMA, ONE_FILE_METADATA };

static void add_parts(struct craft *craft)
{
	craft->sections = 0;
	for (int part = 0; part < 3; part++)
		add_part(craft, part);
}

static void assert_sections(const dwarfs_image *image)
{
	assert_true(image->section_count >= 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(image->sections[i].offset, offsets[i]);
		assert_int_equal(image->sections[i].type, parts[i].type);
	}
	assert_int_equal(image->block_count, 1);
	assert_reads_hi(image);
}

/* The magic is damaged, or the length points to no header, or into the next section. No
 * header follows that of the metadata, whose end is then unknown. */
static void sections_with_damaged_headers_are_found(void **state)
{
	static const uint8_t lengths[] = { 0xff, 0x00, 0x31 };

	for (int part = 0; part < 2; part++)
		for (size_t i = 0; i <= sizeof(lengths); i++) {
			auto_craft struct craft craft = { 0 };
			auto_test_image dwarfs_image *image = NULL;
			uint8_t *header;

			add_parts(&craft);
			header = craft.bytes.data + offsets[part];
			if (i < sizeof(lengths))
				header[0x38] = lengths[i];
			else
				memset(header, 0, 8);
			image = open_for_salvage(craft.bytes.data, craft.bytes.size,
						 DWARFS_SALVAGE_INTACT);
			assert_sections(image);
		}
}

/* The known image is also the content of the block: its sections are not taken. */
static void sections_in_a_file_are_not_taken(void **state)
{
	for (int damage = 0; damage < 2; damage++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		craft_section(&craft, DWARFS_SECTION_BLOCK, 0, one_file,
			      sizeof(one_file));
		add_part(&craft, 1);
		add_part(&craft, 2);
		if (damage)
			memset(craft.bytes.data, 0, 8);
		image = open_for_salvage(craft.bytes.data, craft.bytes.size,
					 DWARFS_SALVAGE_INTACT);
		assert_int_equal(image->section_count, 3);
		assert_int_equal(image->sections[0].type, DWARFS_SECTION_BLOCK);
		assert_int_equal(image->sections[0].room,
				 DW_HEADER_BYTES + sizeof(one_file));
		assert_int_equal(image->sections[1].type, DWARFS_SECTION_SCHEMA);
		assert_int_equal(image->sections[2].type, DWARFS_SECTION_METADATA);
	}
}

/* Two sections are missing at their offset: their number is known, not their length. */
static void missing_sections_are_counted(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	add_part(&craft, 0);
	craft.sections = 3;
	add_part(&craft, 1);
	add_part(&craft, 2);
	image = open_for_salvage(craft.bytes.data, craft.bytes.size,
				 DWARFS_SALVAGE_INTACT);
	assert_int_equal(image->section_count, 5);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(image->sections[i].type, DWARFS_SECTION_BLOCK);
	assert_int_equal(image->sections[1].room, 0);
	assert_int_equal(image->block_count, 3);
	assert_reads_hi(image);
}

/* An image, some bytes, and another image. */
static void the_search_ends_at_another_image(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	size_t size;

	add_parts(&craft);
	size = craft.bytes.size;
	assert_int_equal(dw_buffer_append(&craft.bytes, "garbage", 7, NULL), 0);
	add_parts(&craft);
	assert_int_equal(craft.bytes.size, 2 * size + 7);
	craft_expect_end(60);
	image = open_for_salvage(craft.bytes.data, craft.bytes.size,
				 DWARFS_SALVAGE_INTACT);
	craft_expect_end(0);
	assert_sections(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_with_damaged_headers_are_found),
		cmocka_unit_test(sections_in_a_file_are_not_taken),
		cmocka_unit_test(missing_sections_are_counted),
		cmocka_unit_test(the_search_ends_at_another_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
