/* SPDX-License-Identifier: MIT */
/*
 * read/image/locate: sections in any order, with and without an index, after a prefix, of old
 * versions.
 */
#include "read/known.h"
#include "support/effort.h"

static void crafting_gives_the_known_image(void **state)
{
	auto_craft struct craft craft = { 0 };

	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	craft_index(&craft, 0);
	assert_int_equal(craft.bytes.size, sizeof(one_file));
	assert_memory_equal(craft.bytes.data, one_file, sizeof(one_file));
}

static void sections_may_stand_in_any_order(void **state)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					 { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	for (size_t i = 0; i < 12; i++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		for (int part = 0; part < 3; part++)
			add_part(&craft, orders[i / 2][part]);
		if (i % 2)
			craft_index(&craft, 0);
		image = craft_open(&craft, NULL);
		assert_int_equal(dwarfs_image_has_index(image), i % 2);
		assert_reads_hi(image);
	}
}

static void unknown_sections_are_passed_over(void **state)
{
	for (int with_index = 0; with_index < 2; with_index++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		struct findings findings = { 0 };

		craft_section(&craft, 0xD0FF, 99, "?", 1);
		for (int part = 0; part < 3; part++) {
			add_part(&craft, part);
			craft_section(&craft, 11 + (uint32_t)part, 1234, "", 0);
		}
		if (with_index)
			craft_index(&craft, 0);
		image = craft_open(&craft, NULL);
		assert_reads_hi(image);
		assert_int_equal(dwarfs_image_section_count(image), 7 + with_index);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, find,
						    &findings, NULL, NULL, NULL),
				 0);
		assert_int_equal(findings.warnings, 4);
		assert_int_equal(findings.silent, 0);
	}
}

/* Sections that the index does not list, between the last listed one and the index. */
static void side_sections_are_passed_over(void **state)
{
	for (uint32_t hidden = 1; hidden < 4; hidden++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		for (uint32_t i = 0; i < hidden; i++)
			craft_section(&craft, 0xD100 + i, 0, "beside", 6);
		craft_index(&craft, hidden);
		image = craft_open(&craft, NULL);
		assert_true(dwarfs_image_has_index(image));
		assert_reads_hi(image);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL,
						    NULL, NULL, NULL, NULL),
				 0);
	}
}

static void schema_and_metadata_are_needed_once(void **state)
{
	static const int wrong[][4] = { { 0, 1, -1, -1 },
					{ 0, 2, -1, -1 },
					{ 0, 1, 1, 2 },
					{ 0, 1, 2, 2 },
					{ 0, -1, -1, -1 } };

	for (size_t i = 0; i < 10; i++) {
		auto_craft struct craft craft = { 0 };
		dwarfs_image *image = NULL;

		for (int k = 0; k < 4 && wrong[i / 2][k] >= 0; k++)
			add_part(&craft, wrong[i / 2][k]);
		craft_section(&craft, 12, 0, "x", 1);
		if (i % 2)
			craft_index(&craft, 0);
		assert_int_equal(
			craft_try(craft.bytes.data, craft.bytes.size, NULL, &image, NULL),
			DWARFS_ERR_CORRUPT);
		assert_null(image);
	}
}

/* An invalid index is ignored. */
static void a_damaged_index_is_ignored(void **state)
{
	for (size_t at = ONE_FILE_INDEX + 8; at < sizeof(one_file); at++) {
		auto_test_image dwarfs_image *image = NULL;
		uint8_t copy[sizeof(one_file)];

		/* Its type and length are also needed to reach the next section. */
		if (at >= ONE_FILE_INDEX + 0x34 && at < ONE_FILE_INDEX + 0x40)
			continue;
		memcpy(copy, one_file, sizeof(copy));
		copy[at] ^= 0xff;
		assert_int_equal(craft_try(copy, sizeof(copy), NULL, &image, NULL), 0);
		/* The SHA-512/256 is not verified when the image is opened. */
		if (at >= ONE_FILE_INDEX + 0x28)
			assert_false(dwarfs_image_has_index(image));
		assert_int_equal(dwarfs_image_section_count(image), 4);
		assert_reads_hi(image);
	}
}

/* Matching hash, wrong contents: either ignored or refused, never used without a
 * check. */
static void a_lying_index_does_no_harm(void **state)
{
	static const uint64_t words[] = {
		0,
		1,
		63,
		64,
		ONE_FILE_SCHEMA - 1,
		ONE_FILE_SCHEMA + 1,
		ONE_FILE_INDEX,
		878,
		879,
		880,
		0xFFFFFFFFFFFF,
		0xFFFFFFFFFFC0,
	};
	dwarfs_context *context = quiet_context();

	for (int entry = 0; entry < 4; entry++)
		for (uint64_t type = 0; type < 12; type++)
			for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
				auto_test_image dwarfs_image *image = NULL;
				uint8_t copy[sizeof(one_file)];
				uint64_t word = type << 48 | words[i];

				memcpy(copy, one_file, sizeof(copy));
				for (int k = 0; k < 8; k++)
					copy[ONE_FILE_INDEX + 64 + entry * 8 + k] =
						(uint8_t)(word >> 8 * k);
				craft_rehash(copy, sizeof(copy));
				if (craft_try(copy, sizeof(copy), context, &image,
					      NULL) == 0)
					exercise(image);
			}
	dwarfs_context_free(context);
}

static void versions_up_to_the_known_one(void **state)
{
	for (unsigned minor = 2; minor < 10; minor++) {
		auto_error dwarfs_error *err = NULL;
		auto_test_image dwarfs_image *image = NULL;
		uint8_t copy[sizeof(one_file)];
		int ret;

		memcpy(copy, one_file, sizeof(copy));
		copy[7] = copy[ONE_FILE_SCHEMA + 7] = (uint8_t)minor;
		copy[ONE_FILE_METADATA + 7] = copy[ONE_FILE_INDEX + 7] = (uint8_t)minor;
		ret = craft_try(copy, sizeof(copy), NULL, &image, &err);
		assert_int_equal(ret, minor <= 6 ? 0 : DWARFS_ERR_UNSUPPORTED);
		if (ret < 0)
			continue;
		assert_int_equal(dwarfs_image_format_minor(image), minor);
		assert_int_equal(dwarfs_image_has_index(image), minor >= 4);
		assert_reads_hi(image);
	}
}

/* Of another major version nothing but the number is known. */
static void other_major_versions_are_named(void **state)
{
	for (unsigned major = 0; major < 64; major++) {
		auto_error dwarfs_error *err = NULL;
		auto_test_image dwarfs_image *image = NULL;
		uint8_t copy[sizeof(one_file)];
		const char *wanted =
			major < ' ' ? "format version" : "not a DwarFS image";
		int ret;

		if (major == 2)
			continue;
		memcpy(copy, one_file, sizeof(copy));
		for (size_t i = 0; i + 8 < sizeof(copy); i++)
			if (memcmp(copy + i, "DWARFS\2", 7) == 0)
				copy[i + 6] = (uint8_t)major;
		ret = craft_try(copy, sizeof(copy), NULL, &image, &err);
		assert_int_equal(ret, major < ' ' ? DWARFS_ERR_UNSUPPORTED
						  : DWARFS_ERR_NOT_IMAGE);
		assert_non_null(strstr(dwarfs_error_message(err), wanted));
	}
}

/* -- version 1 ----------------------------------------------------------------------- */

static void add_short(struct buffer *out, uint32_t type, uint8_t compression,
		      const void *data, size_t size)
{
	uint8_t header[8] = { (uint8_t)type, (uint8_t)(type >> 8), compression, 0,
			      (uint8_t)size, (uint8_t)(size >> 8), 0,		0 };

	assert_int_equal(dw_buffer_append(out, header, 8, NULL), 0);
	assert_int_equal(dw_buffer_append(out, data, size, NULL), 0);
}

static void make_v1(struct buffer *out, uint8_t minor)
{
	uint8_t start[8] = { 'D', 'W', 'A', 'R', 'F', 'S', 2, minor };

	assert_int_equal(dw_buffer_append(out, start, 8, NULL), 0);
	for (int part = 0; part < 3; part++)
		add_short(out, parts[part].type, 0, one_file + parts[part].at,
			  parts[part].size);
}

static void short_headers_are_read(void **state)
{
	for (uint8_t minor = 0; minor < 2; minor++) {
		auto_buffer struct buffer bytes = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		uint64_t value;

		make_v1(&bytes, minor);
		assert_int_equal(craft_try(bytes.data, bytes.size, NULL, &image, NULL),
				 0);
		assert_int_equal(dwarfs_image_format_minor(image), minor);
		assert_int_equal(dwarfs_image_section_count(image), 3);
		assert_int_equal(dwarfs_image_section(image, 1,
						      DWARFS_SECTION_FIELD_OFFSET, &value,
						      NULL),
				 0);
		assert_int_equal(value, 8 + 8 + 3);
		assert_int_equal(dwarfs_image_section(image, 2,
						      DWARFS_SECTION_FIELD_NUMBER, &value,
						      NULL),
				 0);
		assert_int_equal(value, 2);
		assert_reads_hi(image);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL,
						    NULL, NULL, NULL, NULL),
				 0);
	}
}

static void short_headers_behind_a_prefix(void **state)
{
	auto_buffer struct buffer bytes = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	/* No sections follow the first magic. */
	assert_int_equal(dw_buffer_append(&bytes, "#!DWARFS\2\0DWARFS\2\1", 18, NULL), 0);
	make_v1(&bytes, 0);
	assert_int_equal(craft_try(bytes.data, bytes.size, NULL, &image, NULL), 0);
	assert_int_equal(dwarfs_image_offset(image), 18);
	assert_reads_hi(image);
}

static void without_hashes_the_rules_are_checked_at_once(void **state)
{
	dwarfs_context *context = quiet_context();
	auto_buffer struct buffer bytes = { 0 };
	dwarfs_image *image = NULL;
	int refused = 0;

	make_v1(&bytes, 0);
	for (size_t i = 8 + 8 + 3 + 8 + 552 + 8; i < bytes.size - 8; i++)
		for (int bit = 0; bit < 8; bit++) {
			bytes.data[i] ^= (uint8_t)(1 << bit);
			if (craft_try(bytes.data, bytes.size, context, &image, NULL) ==
			    0) {
				exercise(image);
				dwarfs_image_free(image);
			} else {
				refused++;
			}
			bytes.data[i] ^= (uint8_t)(1 << bit);
		}
	assert_true(refused > 50);
	/* Unknown sections are not skipped. */
	add_short(&bytes, 10, 0, "x", 1);
	assert_int_equal(craft_try(bytes.data, bytes.size, context, &image, NULL),
			 DWARFS_ERR_CORRUPT);
	dwarfs_context_free(context);
}

/* -- in front of an image ------------------------------------------------------------ */

static void a_prefix_with_decoys_is_skipped(void **state)
{
	auto_buffer struct buffer bytes = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	uint8_t decoy[128];
	size_t start;
	char text[9] = { 0 };
	uint8_t byte;

	assert_int_equal(
		dw_buffer_append(&bytes, "#!/bin/sh DWARFS\2\5 DWARFS\2", 27, NULL), 0);
	/* A first section without a successor; one whose length wraps; a second section.
	 */
	memcpy(decoy, one_file, 64);
	assert_int_equal(dw_buffer_append(&bytes, decoy, 64, NULL), 0);
	memset(decoy + 0x38, 0xff, 8);
	assert_int_equal(dw_buffer_append(&bytes, decoy, 64, NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, one_file + ONE_FILE_SCHEMA, 64, NULL),
			 0);
	/* Let the magic of the image be split between two reads. */
	while (bytes.size < (1u << 20) - 3)
		assert_int_equal(dw_buffer_append(&bytes, "\0DWARFS\2", 1, NULL), 0);
	start = bytes.size;
	assert_int_equal(dw_buffer_append(&bytes, one_file, sizeof(one_file), NULL), 0);

	assert_int_equal(craft_try(bytes.data, bytes.size, NULL, &image, NULL), 0);
	assert_int_equal(dwarfs_image_offset(image), start);
	assert_int_equal(dwarfs_image_bytes(image), sizeof(one_file));
	assert_true(dwarfs_image_has_index(image));
	assert_reads_hi(image);
	assert_int_equal(dwarfs_image_read_header(image, text, 8, 2, NULL), 0);
	assert_string_equal(text, "/bin/sh ");
	assert_int_equal(dwarfs_image_read_header(image, &byte, 1, start - 1, NULL), 0);
	assert_int_equal(dwarfs_image_read_header(image, &byte, 1, start, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_read_header(image, text, 8, UINT64_MAX - 3, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					    NULL, NULL, NULL),
			 0);
}

static void nothing_but_magics_ends(void **state)
{
	auto_buffer struct buffer bytes = { 0 };
	dwarfs_image *image = NULL;

	craft_expect_end(280);
	/* More than is searched at once; less with the thread sanitizer, for there is one
	 * thread only. */
	while (bytes.size < (IS_THREAD_SANITIZED ? 1u << 15 : 5u << 18))
		assert_int_equal(dw_buffer_append(&bytes, "DWARFS\2\5", 8, NULL), 0);
	/* A magic at the start is taken for an image, one in the middle is not. */
	assert_int_equal(craft_try(bytes.data, bytes.size, NULL, &image, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(craft_try(bytes.data + 1, bytes.size - 1, NULL, &image, NULL),
			 DWARFS_ERR_NOT_IMAGE);
	craft_expect_end(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crafting_gives_the_known_image),
		cmocka_unit_test(sections_may_stand_in_any_order),
		cmocka_unit_test(unknown_sections_are_passed_over),
		cmocka_unit_test(side_sections_are_passed_over),
		cmocka_unit_test(schema_and_metadata_are_needed_once),
		cmocka_unit_test(a_damaged_index_is_ignored),
		cmocka_unit_test(a_lying_index_does_no_harm),
		cmocka_unit_test(versions_up_to_the_known_one),
		cmocka_unit_test(other_major_versions_are_named),
		cmocka_unit_test(short_headers_are_read),
		cmocka_unit_test(short_headers_behind_a_prefix),
		cmocka_unit_test(without_hashes_the_rules_are_checked_at_once),
		cmocka_unit_test(a_prefix_with_decoys_is_skipped),
		cmocka_unit_test(nothing_but_magics_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
