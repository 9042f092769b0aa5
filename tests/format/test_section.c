/* SPDX-License-Identifier: MIT */
/*
 * format/section: headers as bytes, against a known image.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/section.h"
#include "support/one_file.h"

static void known_headers_are_parsed(void **state)
{
	static const struct {
		size_t at;
		uint32_t type;
		uint64_t length, xxh3;
	} known[] = {
		{ 0, DWARFS_SECTION_BLOCK, 3, UINT64_C(0x0226ec46e509e9ac) },
		{ ONE_FILE_SCHEMA, DWARFS_SECTION_SCHEMA, 552,
		  UINT64_C(0xb257b71db72c0b67) },
		{ ONE_FILE_METADATA, DWARFS_SECTION_METADATA, 36,
		  UINT64_C(0xe6d437ea53ea31e1) },
		{ ONE_FILE_INDEX, DWARFS_SECTION_INDEX, 32,
		  UINT64_C(0x1d950f375340426b) },
	};

	for (uint32_t i = 0; i < 4; i++) {
		struct section_header header = { 0 };

		assert_true(dw_section_header_parse(one_file + known[i].at, &header));
		assert_int_equal(header.minor, 5);
		assert_int_equal(header.number, i);
		assert_int_equal(header.type, known[i].type);
		assert_int_equal(header.compression, 0);
		assert_true(header.length == known[i].length);
		assert_true(header.xxh3 == known[i].xxh3);
		assert_memory_equal(header.sha512_256, one_file + known[i].at + 8, 32);
	}
}

static void storing_gives_the_same_bytes(void **state)
{
	static const size_t places[] = { 0, ONE_FILE_SCHEMA, ONE_FILE_METADATA,
					 ONE_FILE_INDEX };

	for (size_t i = 0; i < 4; i++) {
		struct section_header header;
		uint8_t bytes[DW_HEADER_BYTES];

		memset(bytes, 0xAA, sizeof(bytes));
		assert_true(dw_section_header_parse(one_file + places[i], &header));
		dw_section_header_store(&header, bytes);
		assert_memory_equal(bytes, one_file + places[i], sizeof(bytes));
	}
}

static void extreme_values_survive(void **state)
{
	struct section_header header = {
		.type = 0xFFFE,
		.compression = 0xFFFD,
		.number = UINT32_MAX,
		.length = UINT64_MAX - 1,
		.xxh3 = UINT64_C(0x8000000000000001),
	}, again = { 0 };
	uint8_t bytes[DW_HEADER_BYTES];

	memset(header.sha512_256, 0xC3, sizeof(header.sha512_256));
	dw_section_header_store(&header, bytes);
	assert_true(dw_section_header_parse(bytes, &again));
	assert_int_equal(again.minor, DW_FORMAT_MINOR_WRITTEN);
	assert_int_equal(again.type, header.type);
	assert_int_equal(again.compression, header.compression);
	assert_int_equal(again.number, header.number);
	assert_true(again.length == header.length);
	assert_true(again.xxh3 == header.xxh3);
	assert_memory_equal(again.sha512_256, header.sha512_256, 32);
}

static void magic_and_major_version_count(void **state)
{
	for (size_t i = 0; i < 7; i++) {
		struct section_header header;
		uint8_t bytes[DW_HEADER_BYTES];

		memcpy(bytes, one_file, sizeof(bytes));
		bytes[i] ^= 1;
		assert_false(dw_section_header_parse(bytes, &header));
	}
}

static void the_minor_version_is_returned_as_found(void **state)
{
	for (unsigned minor = 0; minor < 256; minor++) {
		struct section_header header;
		uint8_t bytes[DW_HEADER_BYTES];

		memcpy(bytes, one_file, sizeof(bytes));
		bytes[7] = (uint8_t)minor;
		assert_true(dw_section_header_parse(bytes, &header));
		assert_int_equal(header.minor, minor);
	}
}

static void short_headers_are_parsed(void **state)
{
	static const uint8_t bytes[] = { 7, 1, 3, 0xEE, 0x78, 0x56, 0x34, 0xF2 };
	struct section_header header;

	memset(&header, 0xFF, sizeof(header));
	dw_section_header_parse_v1(bytes, &header);
	assert_int_equal(header.type, 0x107);
	assert_int_equal(header.compression, 3);
	assert_true(header.length == 0xF2345678);
	assert_int_equal(header.number, 0);
	assert_true(header.xxh3 == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_headers_are_parsed),
		cmocka_unit_test(storing_gives_the_same_bytes),
		cmocka_unit_test(extreme_values_survive),
		cmocka_unit_test(magic_and_major_version_count),
		cmocka_unit_test(the_minor_version_is_returned_as_found),
		cmocka_unit_test(short_headers_are_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
