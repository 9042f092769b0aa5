/* SPDX-License-Identifier: MIT */
/*
 * os/pages: blocks that are filled at once are like others, and huge pages hold the large ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "os/pages.h"

#define MIB ((size_t)1 << 20)

static const size_t sizes[] = { 0,	 1,	      4096,	   MIB - 1,	MIB,
				2 * MIB, 2 * MIB + 1, 3 * MIB - 1, 3 * MIB + 1, 9 * MIB };

#define SIZES (sizeof(sizes) / sizeof(*sizes))

static void fill_and_free(uint8_t *block, size_t bytes)
{
	uint8_t *moved;

	assert_non_null(block);
	memset(block, 0x5a, bytes);
	moved = dw_realloc(block, bytes + 5 * MIB);
	assert_non_null(moved);
	for (size_t i = 0; i < bytes; i++)
		if (moved[i] != 0x5a)
			fail_msg("byte %zu of %zu has changed", i, bytes);
	dw_free(moved);
}

static void blocks_of_all_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++)
		for (size_t prepared = 0; prepared <= 4 * MIB; prepared += 2 * MIB)
			fill_and_free(dw_pages_new_block(sizes[i], prepared), sizes[i]);
}

/* The header of a block begins a huge page if at least half of the page is used. */
static void large_blocks_begin_with_a_huge_page(void **state)
{
	(void)state;
#ifdef __linux__
	for (size_t i = 0; i < SIZES; i++) {
		uint8_t *block = dw_pages_new_block(sizes[i], 0);

		assert_non_null(block);
		if (sizes[i] >= MIB)
			assert_int_equal((uintptr_t)block % (2 * MIB),
					 sizeof(union block_header));
		dw_free(block);
	}
#else
	skip();
#endif
}

static void too_large_blocks(void **state)
{
	(void)state;
	assert_null(dw_pages_new_block(SIZE_MAX, 0));
	assert_null(dw_pages_new_block(SIZE_MAX / 4 * 3, MIB));
	assert_null(dw_pages_new_block(SIZE_MAX / 2 + 1, MIB));
}

/* -- an allocator of the program ----------------------------------------------------- */

struct counts {
	size_t bytes, blocks;
};

static void *allocate(size_t bytes, void *user)
{
	struct counts *counts = user;

	counts->bytes += bytes;
	counts->blocks++;
	return malloc(bytes);
}

static void release(void *block, size_t bytes, void *user)
{
	struct counts *counts = user;

	counts->bytes -= bytes;
	counts->blocks--;
	free(block);
}

static void an_allocator_gets_all_blocks(void **state)
{
	struct counts counts = { 0 };
	const dwarfs_allocator allocator = {
		.struct_bytes = sizeof(allocator),
		.allocate = allocate,
		.release = release,
		.user = &counts,
	};

	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		const dwarfs_allocator *previous;
		void *block;

		assert_int_equal(dwarfs_allocator_use(&allocator, &previous, NULL), 0);
		block = dw_pages_new_block(sizes[i], sizes[i]);
		assert_int_equal(dwarfs_allocator_use(previous, NULL, NULL), 0);
		assert_int_equal(counts.blocks, 1);
		assert_true(counts.bytes >= sizes[i]);
		fill_and_free(block, sizes[i]);
		assert_int_equal(counts.blocks, 0);
		assert_int_equal(counts.bytes, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_all_sizes),
		cmocka_unit_test(large_blocks_begin_with_a_huge_page),
		cmocka_unit_test(too_large_blocks),
		cmocka_unit_test(an_allocator_gets_all_blocks),
	};

	return cmocka_run_group_tests_name("os/pages", tests, NULL, NULL);
}
