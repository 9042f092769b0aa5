/* SPDX-License-Identifier: MIT */
/*
 * write/segment/locality: which blocks of others a directory may refer to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/write_run.h"
#include "write/options/build_options.h"
#include "write/segment/locality.h"

/* The batch of chunks of one file of a unit. */
static void the_largest_shares_stay(void **state)
{
	struct tree_directory directory = { 0, 1 };
	struct tree_entry entries[2] = { { 0, 0, 0 }, { 0, 0, 1 } };
	struct tree_inode inodes[2] = { 0 };
	struct content content = { .inode = 1 };
	struct fragment fragment = { .size = 200000, .chunk_count = 6 };
	struct tree tree = {
		.entries = entries,
		.entry_count = 2,
		.inodes = inodes,
		.inode_count = 2,
		.directories = &directory,
		.directory_count = 1,
	};
	struct contents contents = {
		.list = &content,
		.count = 1,
		.fragments = &fragment,
		.fragment_count = 1,
	};
	const struct locality_options options = { 0, 1 << 20, 1 };
	const struct chunk chunks[6] = {
		{ 3, 0, 1000 }, { 5, 0, 3000 },	     { DW_NONE, 0, 900000 },
		{ 3, 5, 1500 }, { 9, 100, 1 << 16 }, { 7, 0, 2500 },
	};
	const uint32_t number = 0;
	struct locality_batch batch = { 0, &number, 1, chunks, 6, 9, 10, true };
	struct locality *locality = NULL;
	uint8_t marks[6];
	size_t marked;

	(void)state;
	inodes[1].entry = 1;
	assert_int_equal(dw_locality_new(&options, &tree, &contents, &locality, NULL), 0);
	assert_int_equal(dw_locality_unit(locality, 0), 0);
	assert_int_equal(dw_locality_judge(locality, &batch, marks, &marked, NULL), 0);
	assert_int_equal(marked, 3);
	assert_memory_equal(marks, "\1\0\0\1\0\1", 6);
	/* Another batch may use the same foreign block, and own blocks. */
	batch.first_block = batch.last_block = 12;
	assert_int_equal(dw_locality_judge(locality, &batch, marks, &marked, NULL), 0);
	assert_memory_equal(marks, "\1\0\0\1\0\1", 6);
	dw_locality_free(locality);
}

/* A small file is in one foreign block, for any other blocks of the unit. */
static void a_small_file_is_in_one_foreign_block(void **state)
{
	struct tree_directory directory = { 0, 1 };
	struct tree_inode inodes[2] = { 0 };
	struct content content = { .inode = 1 };
	struct fragment fragment = { .size = 9000, .chunk_count = 3 };
	struct tree tree = {
		.inodes = inodes,
		.inode_count = 2,
		.directories = &directory,
		.directory_count = 1,
	};
	struct contents contents = {
		.list = &content,
		.count = 1,
		.fragments = &fragment,
		.fragment_count = 1,
	};
	const struct locality_options options = { 0, 1 << 20, 10 };
	const struct chunk chunks[3] = { { 3, 0, 4000 }, { 5, 0, 3000 }, { 3, 5, 2000 } };
	const uint32_t number = 0;
	struct locality_batch batch = { 0, &number, 1, chunks, 3, 9, 9, false };
	struct locality *locality = NULL;
	uint8_t marks[3];
	size_t marked;

	(void)state;
	inodes[1].entry = 1;
	assert_int_equal(dw_locality_new(&options, &tree, &contents, &locality, NULL), 0);
	assert_int_equal(dw_locality_judge(locality, &batch, marks, &marked, NULL), 0);
	assert_int_equal(marked, 1);
	assert_memory_equal(marks, "\0\1\0", 3);
	dw_locality_free(locality);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_shares_stay),
		cmocka_unit_test(a_small_file_is_in_one_foreign_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
