/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/record_ranges: the ranges of frozen metadata.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/freeze.h"
#include "write/metadata/record_ranges.h"

#define TABLE(array)                                                                     \
	(struct freeze_table)                                                            \
	{                                                                                \
		(array), sizeof(array) / sizeof((array)[0])                              \
	}

static const struct freeze_chunk chunks[] = { { 0, 0, 500 }, { 1, 500, 7 } };
static const struct freeze_pair64 sizes[] = { { 1, 70000 }, { 300, 5 } };
static const uint32_t modes[] = { 040755, 0100644, 0120777 };
static const uint32_t index_of_names[] = { 0, 5 };

static struct freeze_metadata example(void)
{
	return (struct freeze_metadata){
		.chunks = TABLE(chunks),
		.modes = TABLE(modes),
		.has_dwarfs_version = true,
		.dwarfs_version = { (const uint8_t *)"some version", 12 },
		.has_compact_names = true,
		.compact_names = { .buffer = { (const uint8_t *)"names", 5 },
				   .index = TABLE(index_of_names) },
		.has_reg_file_size_cache = true,
		.reg_file_size_cache = { .size_lookup = TABLE(sizes) },
	};
}

static void find(const struct freeze_metadata *metadata, bool whole_bytes,
		 struct buffer *data, struct record_ranges *ranges)
{
	auto_buffer struct buffer schema = { 0 };

	assert_int_equal(dw_freeze(metadata, whole_bytes, &schema, data, NULL), 0);
	assert_int_equal(
		dw_record_ranges_find(dw_buffer_span(&schema), data, ranges, NULL), 0);
	assert_true(ranges->count > 0);
	assert_int_equal(ranges->list[ranges->count - 1].upto, data->size);
}

/* Tables and strings follow the numbers of the root; a gap of 8 bytes is at the end. */
static void each_table_is_a_range(void **state)
{
	static const struct {
		size_t bytes;
		uint32_t record_bytes;
	} expected[] = {
		{ 2 * 5, 5 }, /* chunks: block, offset and size in 1, 2 and 2 bytes */
		{ 3 * 2, 2 }, /* modes */
		{ 12, 1 },    /* dwarfs_version */
		{ 5, 1 },     /* names */
		{ 2, 1 },     /* their index */
		{ 6, 1 },     /* up to a multiple of 8 */
		{ 2 * 5, 5 }, /* sizes: 2 and 3 bytes */
		{ 8, 1 },
	};
	const struct freeze_metadata metadata = example();
	auto_buffer struct buffer data = { 0 };
	struct record_ranges ranges;
	size_t count = sizeof(expected) / sizeof(expected[0]);

	(void)state;
	find(&metadata, true, &data, &ranges);
	assert_int_equal(ranges.count, 1 + count);
	assert_int_equal(ranges.list[0].record_bytes, 1);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(ranges.list[i + 1].upto - ranges.list[i].upto,
				 expected[i].bytes);
		assert_int_equal(ranges.list[i + 1].record_bytes,
				 expected[i].record_bytes);
	}
}

/* Chunks have 1 and 2 times 9 bits then, modes still 16. */
static void packed_bits_are_no_records(void **state)
{
	const struct freeze_metadata metadata = example();
	auto_buffer struct buffer data = { 0 };
	struct record_ranges ranges;

	(void)state;
	find(&metadata, false, &data, &ranges);
	assert_int_equal(ranges.list[1].upto - ranges.list[0].upto, (2 * 19 + 7) / 8);
	assert_int_equal(ranges.list[1].record_bytes, 1);
	assert_int_equal(ranges.list[2].upto - ranges.list[1].upto, 3 * 2);
	assert_int_equal(ranges.list[2].record_bytes, 2);
}

static void metadata_without_tables_is_one_range(void **state)
{
	const struct freeze_metadata metadata = { .block_size = 1 << 20 };
	auto_buffer struct buffer data = { 0 };
	struct record_ranges ranges;

	(void)state;
	find(&metadata, true, &data, &ranges);
	assert_int_equal(ranges.count, 1);
}

/* Each byte of the data in turn has another value: tables are elsewhere, overlap or lie outside. The
 * ranges, if there are any, are ascending and cover the data. */
static void damaged_data_is_covered_or_refused(void **state)
{
	const struct freeze_metadata metadata = example();
	auto_buffer struct buffer schema = { 0 }, data = { 0 };

	(void)state;
	assert_int_equal(dw_freeze(&metadata, true, &schema, &data, NULL), 0);
	for (size_t at = 0; at < data.size; at++) {
		for (unsigned change = 1; change < 256; change *= 2) {
			struct record_ranges ranges;
			size_t from = 0;

			data.data[at] ^= (uint8_t)change;
			if (dw_record_ranges_find(dw_buffer_span(&schema), &data, &ranges,
						  NULL) < 0)
				ranges.count = 0;
			for (size_t i = 0; i < ranges.count; i++) {
				assert_true(ranges.list[i].upto > from);
				assert_true(ranges.list[i].record_bytes > 0);
				from = ranges.list[i].upto;
			}
			assert_true(from == data.size || ranges.count == 0);
			data.data[at] ^= (uint8_t)change;
		}
	}
}

static void what_is_cut_off_is_refused(void **state)
{
	const struct freeze_metadata metadata = example();
	auto_buffer struct buffer schema = { 0 }, data = { 0 };
	struct record_ranges ranges;

	(void)state;
	assert_int_equal(dw_freeze(&metadata, true, &schema, &data, NULL), 0);
	data.size -= 8 + 1; /* the padding, and a byte of the last table */
	assert_int_equal(
		dw_record_ranges_find(dw_buffer_span(&schema), &data, &ranges, NULL),
		DWARFS_ERR_CORRUPT);
	data.size += 1;
	assert_int_equal(
		dw_record_ranges_find(dw_buffer_span(&schema), &data, &ranges, NULL), 0);
	schema.size /= 2;
	assert_int_equal(
		dw_record_ranges_find(dw_buffer_span(&schema), &data, &ranges, NULL),
		DWARFS_ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_table_is_a_range),
		cmocka_unit_test(packed_bits_are_no_records),
		cmocka_unit_test(metadata_without_tables_is_one_range),
		cmocka_unit_test(damaged_data_is_covered_or_refused),
		cmocka_unit_test(what_is_cut_off_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
