/* SPDX-License-Identifier: MIT */
/*
 * write/digests/digest_section: what fits into a size, and in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "write/digests/digest_section.h"

#define BLOCKS	    4
#define EACH	    256 /* anchors */
#define BLOCK_BYTES 65536

static const uint32_t files[] = { 2, 0, 1 };

static struct digests *make_digests(void)
{
	struct digests *digests = NULL;

	assert_int_equal(dw_digests_new(7, &digests, NULL), 0);
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t digest[DW_FILE_DIGEST_BYTES];

		memset(digest, (int)i + 1, sizeof(digest));
		assert_int_equal(dw_digests_set_file(digests, i, digest, NULL), 0);
	}
	for (uint32_t block = 0; block < BLOCKS; block++) {
		struct anchor_list list = { .is_known = true };

		if (block == 1) /* not known */
			continue;
		assert_int_equal(dw_grow(&list.list, &list.room, EACH, NULL), 0);
		for (uint32_t i = 0; i < EACH; i++)
			list.list[list.count++] =
				(struct block_anchor){ block * EACH + i, i * 100 };
		assert_int_equal(
			dw_block_anchors_set(&digests->anchors, block, &list, NULL), 0);
	}
	return digests;
}

static void make_section(const struct digests *digests, uint64_t max_bytes,
			 struct buffer *out, struct digest_table *table)
{
	const struct digest_section_input input = {
		.digests = digests,
		.files = files,
		.file_count = 3,
		.block_count = BLOCKS,
		.metadata_xxh3 = 9,
		.max_bytes = max_bytes,
	};

	assert_int_equal(dw_digest_section(&input, out, NULL), 0);
	assert_true(out->size <= max_bytes);
	if (out->size > 0)
		assert_int_equal(dw_digest_table_check(dw_buffer_span(out), BLOCK_BYTES,
						       table, NULL),
				 0);
}

static void everything_is_stored_if_it_may(void **state)
{
	DW_AUTO(digests) struct digests *digests = make_digests();
	auto_buffer struct buffer out = { 0 };
	uint8_t digest[DW_FILE_DIGEST_BYTES];
	struct digest_table table;
	uint32_t first, end;

	make_section(digests, UINT64_MAX, &out, &table);
	assert_int_equal(table.metadata_xxh3, 9);
	assert_int_equal(table.file_count, 3);
	assert_false(dw_digest_table_file(&table, 0, digest)); /* contents 2: not known */
	assert_true(dw_digest_table_file(&table, 1, digest));
	assert_int_equal(digest[0], 1);
	assert_true(dw_digest_table_file(&table, 2, digest));
	assert_int_equal(digest[0], 2);
	assert_int_equal(table.anchor_count, (BLOCKS - 1) * EACH);
	assert_false(dw_digest_table_block(&table, 1, &first, &end));
	assert_true(dw_digest_table_block(&table, 3, &first, &end));
	assert_int_equal(end - first, EACH);
	assert_int_equal(dw_digest_table_offset(&table, first + 1), 100);
	assert_true(dw_digest_table_hash(&table, first + 1) == 3 * EACH + 1);
}

/* At each size, the section is as large as it can be. */
static void what_does_not_fit_is_left_out(void **state)
{
	DW_AUTO(digests) struct digests *digests = make_digests();
	uint64_t digests_only = dw_digest_tables_bytes(3, 0, 0);
	uint64_t all = dw_digest_tables_bytes(3, BLOCKS, (BLOCKS - 1) * EACH);
	uint32_t before = UINT32_MAX;

	for (uint64_t max = all; max >= digests_only; max -= max > all / 2 ? 100 : 1) {
		auto_buffer struct buffer out = { 0 };
		struct digest_table table;

		make_section(digests, max, &out, &table);
		assert_int_equal(table.file_count, 3);
		assert_true(table.anchor_count <= before);
		before = table.anchor_count;
		if (table.block_count > 0) /* else twice as many could be had */
			assert_true(dw_digest_tables_bytes(3, BLOCKS,
							   4 * table.anchor_count + 8) >
					    max ||
				    table.anchor_count == (BLOCKS - 1) * EACH);
	}
	assert_int_equal(before, 0);
	for (uint64_t max = 0; max < digests_only; max++) {
		auto_buffer struct buffer out = { 0 };
		struct digest_table table;

		make_section(digests, max, &out, &table);
		assert_int_equal(out.size, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_stored_if_it_may),
		cmocka_unit_test(what_does_not_fit_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
