/* SPDX-License-Identifier: MIT */
/*
 * format/side/digest_table: written tables are read back, and invalid ones are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/side/digest_table.h"

#define FILES	    3
#define BLOCKS	    3
#define ANCHORS	    3
#define BLOCK_BYTES 4096

static const uint32_t ends[BLOCKS] = { 2, 2 | DW_ANCHORS_UNKNOWN, 3 };
static const uint32_t offsets[ANCHORS] = { 0, BLOCK_BYTES - DW_ANCHOR_BYTES, 7 };
static const uint64_t hashes[ANCHORS] = { 1, UINT64_C(0x0123456789abcdef), UINT64_MAX };

/* Where the tables of these counts begin. */
#define AT_ENDS	   (DW_DIGESTS_HEADER_BYTES + FILES * DW_FILE_DIGEST_BYTES + ANCHORS * 8)
#define AT_OFFSETS (AT_ENDS + BLOCKS * 4)

static void write_table(struct buffer *out)
{
	uint8_t digests[FILES * DW_FILE_DIGEST_BYTES] = { 0 };
	struct digest_tables tables = {
		.metadata_xxh3 = 77,
		.digests = digests,
		.file_count = FILES,
		.ends = ends,
		.block_count = BLOCKS,
		.hashes = hashes,
		.offsets = offsets,
		.anchor_count = ANCHORS,
	};

	memset(digests, 0xa1, DW_FILE_DIGEST_BYTES);
	digests[3 * DW_FILE_DIGEST_BYTES - 1] = 1;
	assert_int_equal(dw_digest_tables_write(&tables, out, NULL), 0);
	assert_int_equal(out->size, dw_digest_tables_bytes(FILES, BLOCKS, ANCHORS));
}

static int check_table(const struct buffer *data, struct digest_table *table)
{
	return dw_digest_table_check(dw_buffer_span(data), BLOCK_BYTES, table, NULL);
}

static void what_is_written_is_read(void **state)
{
	auto_buffer struct buffer data = { 0 };
	uint8_t digest[DW_FILE_DIGEST_BYTES];
	struct digest_table table;
	uint32_t first, end;

	write_table(&data);
	assert_int_equal(check_table(&data, &table), 0);
	assert_int_equal(table.metadata_xxh3, 77);
	assert_int_equal(table.file_count, FILES);
	assert_true(dw_digest_table_file(&table, 0, digest));
	assert_int_equal(digest[15], 0xa1);
	assert_false(dw_digest_table_file(&table, 1, digest)); /* all zero */
	assert_true(dw_digest_table_file(&table, 2, digest));
	assert_int_equal(digest[15], 1);
	assert_false(dw_digest_table_file(&table, FILES, digest));
	assert_true(dw_digest_table_block(&table, 0, &first, &end));
	assert_int_equal(first, 0);
	assert_int_equal(end, 2);
	assert_false(dw_digest_table_block(&table, 1, &first, &end));
	assert_true(dw_digest_table_block(&table, 2, &first, &end));
	assert_int_equal(first, 2);
	assert_int_equal(end, 3);
	assert_false(dw_digest_table_block(&table, BLOCKS, &first, &end));
	for (uint32_t i = 0; i < ANCHORS; i++) {
		assert_int_equal(dw_digest_table_offset(&table, i), offsets[i]);
		assert_true(dw_digest_table_hash(&table, i) == hashes[i]);
	}
}

static void an_empty_table_is_valid(void **state)
{
	const struct digest_tables none = { .metadata_xxh3 = 1 };
	auto_buffer struct buffer data = { 0 };
	struct digest_table table;

	assert_int_equal(dw_digest_tables_write(&none, &data, NULL), 0);
	assert_int_equal(check_table(&data, &table), 0);
	assert_int_equal(table.file_count, 0);
	assert_int_equal(table.block_count, 0);
}

static void any_other_size_is_refused(void **state)
{
	auto_buffer struct buffer data = { 0 };
	struct digest_table table;

	write_table(&data);
	for (size_t size = data.size; size-- > 0;) {
		struct span cut = { data.data, size };

		assert_int_equal(dw_digest_table_check(cut, BLOCK_BYTES, &table, NULL),
				 DWARFS_ERR_CORRUPT);
	}
	assert_int_equal(dw_buffer_append(&data, "", 1, NULL), 0);
	assert_int_equal(check_table(&data, &table), DWARFS_ERR_CORRUPT);
}

/* One number of the section is another one. */
static void impossible_numbers_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		int code;
	} defects[] = {
		{ DIGESTS_AT_VERSION, 2, DWARFS_ERR_UNSUPPORTED },
		{ DIGESTS_AT_FILE_COUNT, FILES + 1, DWARFS_ERR_CORRUPT },
		{ DIGESTS_AT_FILE_COUNT, UINT32_MAX, DWARFS_ERR_CORRUPT },
		{ DIGESTS_AT_BLOCK_COUNT, 0, DWARFS_ERR_CORRUPT },
		{ DIGESTS_AT_BLOCK_COUNT, UINT32_MAX, DWARFS_ERR_CORRUPT },
		{ DIGESTS_AT_ANCHOR_COUNT, 0, DWARFS_ERR_CORRUPT },
		{ DIGESTS_AT_ANCHOR_COUNT, UINT32_MAX, DWARFS_ERR_CORRUPT },
		{ AT_ENDS, 3, DWARFS_ERR_CORRUPT }, /* the next one descends */
		{ AT_ENDS, UINT32_MAX, DWARFS_ERR_CORRUPT },
		{ AT_ENDS, 2 | DW_ANCHORS_UNKNOWN, DWARFS_ERR_CORRUPT }, /* it has some */
		{ AT_ENDS + 8, 2, DWARFS_ERR_CORRUPT }, /* one is of no block */
		{ AT_ENDS + 8, 4, DWARFS_ERR_CORRUPT },
		{ AT_OFFSETS, BLOCK_BYTES, DWARFS_ERR_CORRUPT }, /* does not ascend */
		{ AT_OFFSETS + 4, 0, DWARFS_ERR_CORRUPT },
		{ AT_OFFSETS + 4, BLOCK_BYTES - DW_ANCHOR_BYTES + 1, DWARFS_ERR_CORRUPT },
		{ AT_OFFSETS + 8, UINT32_MAX, DWARFS_ERR_CORRUPT },
	};

	for (size_t i = 0; i < sizeof(defects) / sizeof(defects[0]); i++) {
		auto_buffer struct buffer data = { 0 };
		struct digest_table table;

		write_table(&data);
		dw_store32(data.data + defects[i].at, defects[i].value);
		assert_int_equal(check_table(&data, &table), defects[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(an_empty_table_is_valid),
		cmocka_unit_test(any_other_size_is_refused),
		cmocka_unit_test(impossible_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
