/* SPDX-License-Identifier: MIT */
/*
 * read/image/decompress: contents of small sections, with limits before memory is allocated.
 */
#include "read/known.h"

#include "read/image/image.h"

/* Decompress bytes as if they were the payload of section 5, a history. */
static int unpack(uint32_t codec, const void *payload, size_t size, uint64_t max_bytes,
		  size_t padding, uint8_t **data, uint64_t *size_out, dwarfs_error **err)
{
	const struct dwarfs_image image = { .minor = 5 };
	const struct stored stored = {
		.header = { .type = DWARFS_SECTION_HISTORY,
			    .compression = codec,
			    .length = size },
		.bytes = payload,
	};

	return dw_unpack_section(&image, 5, &stored, max_bytes, padding, data, size_out,
				 err);
}

static void padding_is_zero(void **state)
{
	for (size_t padding = 0; padding < 40; padding++) {
		auto_free uint8_t *data = NULL;
		uint64_t size = 0;

		assert_int_equal(
			unpack(CODEC_NONE, "contents", 8, 8, padding, &data, &size, NULL),
			0);
		assert_int_equal(size, 8);
		assert_memory_equal(data, "contents", 8);
		for (size_t i = 0; i < padding; i++)
			assert_int_equal(data[8 + i], 0);
	}
}

static void errors_name_the_section(void **state)
{
	static const struct {
		uint32_t codec;
		const char *payload;
		uint64_t max_bytes;
		int code; /* 0: any */
	} cases[] = {
		{ CODEC_NONE, "contents", 7, DWARFS_ERR_CORRUPT },
		{ CODEC_NONE, "contents", 0, DWARFS_ERR_CORRUPT },
		{ 77, "contents", 100, DWARFS_ERR_UNSUPPORTED },
		{ CODEC_ZSTD, "contents", 100, 0 },
		{ CODEC_LZMA, "contents", 100, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_error dwarfs_error *err = NULL;
		uint8_t *data = NULL;
		uint64_t size = 99;
		int ret = unpack(cases[i].codec, cases[i].payload, 8, cases[i].max_bytes,
				 0, &data, &size, &err);

		assert_true(ret < 0);
		if (cases[i].code)
			assert_int_equal(ret, cases[i].code);
		assert_null(data);
		assert_int_equal(size, 99);
		assert_non_null(strstr(dwarfs_error_message(err), "section 5 (HISTORY)"));
	}
}

/* The schema of the known image. */
static void a_section_is_verified_before_it_is_used(void **state)
{
	uint8_t copy[sizeof(one_file)];
	auto_test_image dwarfs_image *image = NULL;
	auto_free uint8_t *data = NULL;
	uint8_t *none = NULL;
	uint64_t size = 0;

	memcpy(copy, one_file, sizeof(copy));
	assert_int_equal(craft_try(copy, sizeof(copy), NULL, &image, NULL), 0);
	assert_int_equal(dw_load_section(image, 1, 552, 1, &data, &size, NULL), 0);
	assert_int_equal(size, 552);
	assert_memory_equal(data, one_file + ONE_FILE_SCHEMA + 64, 552);
	copy[ONE_FILE_SCHEMA + 64 + 100] ^= 1;
	assert_int_equal(dw_load_section(image, 1, 552, 1, &none, &size, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_null(none);
}

/* Its hash does not match either, but is not verified. */
static void a_section_that_is_too_long_is_not_read(void **state)
{
	enum { MOST = 1000, STORED = 2 * MOST + 65536 };

	for (size_t more = 0; more < 2; more++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		auto_free uint8_t *bytes = dw_calloc(1, STORED + 1);
		uint8_t *data = NULL;
		uint64_t size;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		craft_section(&craft, DWARFS_SECTION_HISTORY, 0, bytes, STORED + more);
		craft.bytes.data[craft.bytes.size - 1] ^= 1;
		image = craft_open(&craft, NULL);
		assert_int_equal(dw_load_section(image, 3, MOST, 0, &data, &size, NULL),
				 more ? DWARFS_ERR_CORRUPT : DWARFS_ERR_CHECKSUM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(padding_is_zero),
		cmocka_unit_test(errors_name_the_section),
		cmocka_unit_test(a_section_is_verified_before_it_is_used),
		cmocka_unit_test(a_section_that_is_too_long_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
