/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/chunk_sums: prefix sums, against sums of all sizes before a chunk.
 */
#include "read/image/image.h"
#include "read/metadata/chunk_sums.h"
#include "support/craft.h"

#define BLOCK_BYTES 65536u
#define FILES	    3
#define CHUNKS	    640 /* also the end of the last file: a multiple of the step */

static struct craft_chunk chunks[CHUNKS];
static const uint32_t table[FILES + 1] = { 0, 100, 101, CHUNKS };

static dwarfs_image *open_files(struct craft *craft)
{
	static const uint8_t block[BLOCK_BYTES];

	for (uint32_t i = 0; i < CHUNKS; i++)
		chunks[i] = (struct craft_chunk){ 0, i, 1 + i * 7 % 50 };
	craft_section(craft, DWARFS_SECTION_BLOCK, 0, block, BLOCK_BYTES);
	craft_files(craft, chunks, table, FILES, BLOCK_BYTES, 0);
	return craft_open(craft, NULL);
}

static uint64_t plain_sum(uint64_t first, uint64_t end)
{
	uint64_t sum = 0;

	for (uint64_t i = first; i < end; i++)
		sum += chunks[i].size;
	return sum;
}

static void ranges_have_their_sums(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = open_files(&craft);

	for (uint64_t first = 0; first <= CHUNKS; first += 13)
		for (uint64_t end = first; end <= CHUNKS; end += 1 + end % 7) {
			struct chunk_range range = { first, end };
			uint64_t bytes = 0;

			assert_true(dw_sums_between(image->view, range, &bytes));
			assert_int_equal(bytes, plain_sum(first, end));
		}
	assert_non_null(dw_lazy_items(&image->view->sums));
}

/* Not after the offset, at a correct position, and at most 64 chunks before. */
static void seeking_ends_shortly_before_the_offset(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = open_files(&craft);

	for (uint32_t file = 0; file < FILES; file++) {
		struct chunk_range range = { table[file], table[file + 1] };
		uint64_t start = 0;

		for (uint64_t i = range.first; i < range.end; i++) {
			uint64_t index, at;

			assert_true(dw_sums_seek(image->view, range, start, &index, &at));
			assert_in_range(index, range.first, i);
			assert_true(i - index < 64);
			assert_int_equal(at, plain_sum(range.first, index));
			start += chunks[i].size;
		}
	}
}

/* A chunk without a byte is invalid. */
static void an_invalid_chunk_prevents_sums(void **state)
{
	static const uint8_t block[BLOCK_BYTES];
	struct craft_chunk wrong[] = { { 0, 0, 5 }, { 0, 5, 0 }, { 0, 5, 5 } };
	const uint32_t one[] = { 0, 3 };
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	struct chunk_range range = { 0, 1 };
	uint64_t bytes, at;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, block, BLOCK_BYTES);
	craft_files(&craft, wrong, one, 1, BLOCK_BYTES, 0);
	image = craft_open(&craft, NULL);
	for (int round = 0; round < 2; round++) {
		assert_false(dw_sums_between(image->view, range, &bytes));
		assert_false(dw_sums_seek(image->view, range, 0, &bytes, &at));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_have_their_sums),
		cmocka_unit_test(seeking_ends_shortly_before_the_offset),
		cmocka_unit_test(an_invalid_chunk_prevents_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
