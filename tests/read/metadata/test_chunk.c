/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/chunk and read/file: offsets in files of many chunks, compared with plain
 * sums; and holes.
 */
#include "read/image/image.h"
#include "read/metadata/chunk.h"
#include "support/craft.h"

#define BLOCK_BYTES 65536u
#define HOLE_BLOCK  1u

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* One file of this many chunks of 1 to 7 bytes; the block contains 0, 1, 2 ... */
static void make_file(struct craft *craft, struct craft_chunk *chunks, uint32_t count)
{
	const uint32_t table[] = { 0, count };
	auto_free uint8_t *block = dw_malloc(BLOCK_BYTES);
	uint32_t random = count;

	for (uint32_t i = 0; i < BLOCK_BYTES; i++)
		block[i] = (uint8_t)(i * 7 + (i >> 8));
	for (uint32_t i = 0; i < count; i++) {
		chunks[i].block = 0;
		chunks[i].size = 1 + next_random(&random) % 7;
		chunks[i].offset = next_random(&random) % (BLOCK_BYTES - 7);
	}
	craft_section(craft, DWARFS_SECTION_BLOCK, 0, block, BLOCK_BYTES);
	craft_files(craft, chunks, table, 1, BLOCK_BYTES, 0);
}

static void check_seek(const struct view *view, struct chunk_range range,
		       const struct chunk_marks *marks, uint64_t offset, uint64_t index,
		       uint64_t skip)
{
	struct chunk_cursor cursor;

	assert_int_equal(dw_chunk_seek(view, range, marks, offset, &cursor, NULL), 0);
	assert_int_equal(cursor.index, index);
	assert_int_equal(cursor.skip, skip);
	assert_int_equal(cursor.offset, offset);
}

static void places_agree_with_plain_sums(void **state)
{
	static const uint32_t counts[] = {
		1, 2, 63, 64, 65, 127, 128, 129, 640, 641, 3000
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		auto_craft struct craft craft = { 0 };
		auto_free struct craft_chunk *chunks =
			dw_calloc(counts[i], sizeof(*chunks));
		auto_test_image dwarfs_image *image = NULL;
		auto_free struct chunk_marks *marks = NULL;
		struct chunk_range range;
		uint64_t offset = 0;

		make_file(&craft, chunks, counts[i]);
		image = craft_open(&craft, NULL);
		assert_int_equal(dw_view_chunk_range(image->view, 1, &range, NULL), 0);
		assert_int_equal(range.end - range.first, counts[i]);
		assert_int_equal(dw_chunk_marks_new(image->view, range, &marks, NULL), 0);
		for (uint32_t k = 0; k < counts[i]; k++)
			for (uint32_t skip = 0; skip < chunks[k].size; skip++) {
				check_seek(image->view, range, marks, offset, k, skip);
				if (k % 37 == 0)
					check_seek(image->view, range, NULL, offset, k,
						   skip);
				offset++;
			}
		assert_int_equal(marks->bytes, offset);
		for (uint64_t past = 0; past < 3; past++) {
			check_seek(image->view, range, marks, offset + past, counts[i],
				   past);
			check_seek(image->view, range, NULL, offset + past, counts[i],
				   past);
		}
	}
}

static void an_empty_file_has_no_places(void **state)
{
	const uint32_t table[] = { 0, 0 };
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_file *file = NULL;
	uint64_t offset;
	size_t got = 9;
	char byte;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, "x", 1);
	craft_files(&craft, NULL, table, 1, BLOCK_BYTES, 0);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(1), &file, NULL), 0);
	assert_int_equal(dwarfs_file_bytes(file), 0);
	assert_int_equal(dwarfs_file_read(file, &byte, 1, 0, &got, NULL), 0);
	assert_int_equal(got, 0);
	assert_int_equal(dwarfs_file_seek_data(file, 0, &offset, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_file_seek_hole(file, 0, &offset, NULL),
			 DWARFS_ERR_NOT_FOUND);
	dwarfs_file_free(file);
}

static void reads_agree_with_plain_copies(void **state)
{
	enum { COUNT = 1000 };
	auto_craft struct craft craft = { 0 };
	static struct craft_chunk chunks[COUNT];
	auto_test_image dwarfs_image *image = NULL;
	static uint8_t whole[COUNT * 7], part[COUNT * 7];
	dwarfs_file *file = NULL;
	size_t total = 0, got;
	uint32_t random = 5;

	make_file(&craft, chunks, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		for (uint32_t k = 0; k < chunks[i].size; k++) {
			uint32_t at = chunks[i].offset + k;

			whole[total++] = (uint8_t)(at * 7 + (at >> 8));
		}
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(1), &file, NULL), 0);
	assert_int_equal(dwarfs_file_bytes(file), total);
	for (int i = 0; i < 2000; i++) {
		size_t offset = next_random(&random) % (total + 20);
		size_t bytes = next_random(&random) % (i % 10 ? 50 : 5000);
		size_t expected = offset > total ? 0 : total - offset;

		expected = expected < bytes ? expected : bytes;
		memset(part, 0xEE, bytes + 1);
		assert_int_equal(dwarfs_file_read(file, part, bytes, offset, &got, NULL),
				 0);
		assert_int_equal(got, expected);
		assert_memory_equal(part, whole + offset, got);
		assert_int_equal(part[got], 0xEE);
		assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), part, bytes,
					     offset, &got, NULL),
				 0);
		assert_int_equal(got, expected);
		assert_memory_equal(part, whole + offset, got);
	}
	dwarfs_file_free(file);
}

static void holes_are_found_and_read_as_zeros(void **state)
{
	/* 10 bytes, a hole of 10 blocks and 36864 bytes, 20 bytes, one of 20 GiB, and one
	 * of 8192 bytes that follows it. */
	static const struct craft_chunk chunks[] = {
		{ 0, 0, 10 },
		{ HOLE_BLOCK, 36864, 10 },
		{ 0, 10, 20 },
		{ HOLE_BLOCK, UINT32_MAX, 0 },
		{ HOLE_BLOCK, 8192, 0 },
	};
	static const uint32_t table[] = { 0, 5 };
	const uint64_t first = 10 + 692224, second = first + 20;
	const uint64_t end = second + UINT64_C(21474836480) + 8192;
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_file *file = NULL;
	dwarfs_stat *stat = NULL;
	uint8_t bytes[64];
	uint64_t at;
	size_t got;

	memset(bytes, 'x', sizeof(bytes));
	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, bytes, 30);
	craft_files(&craft, chunks, table, 1, BLOCK_BYTES, HOLE_BLOCK);
	image = craft_open(&craft, NULL);
	assert_string_equal(dwarfs_image_feature(image, 0), "sparsefiles");
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					    NULL, NULL, NULL),
			 0);
	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(1), stat, NULL), 0);
	assert_true(dwarfs_stat_bytes(stat) == end);
	assert_int_equal(dwarfs_stat_allocated_bytes(stat), 30);
	dwarfs_stat_free(stat);

	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(1), &file, NULL), 0);
	assert_true(dwarfs_file_bytes(file) == end);
	assert_int_equal(dwarfs_file_seek_data(file, 5, &at, NULL), 0);
	assert_true(at == 5);
	assert_int_equal(dwarfs_file_seek_hole(file, 5, &at, NULL), 0);
	assert_true(at == 10);
	assert_int_equal(dwarfs_file_seek_hole(file, 500, &at, NULL), 0);
	assert_true(at == 500);
	assert_int_equal(dwarfs_file_seek_data(file, 500, &at, NULL), 0);
	assert_true(at == first);
	assert_int_equal(dwarfs_file_seek_hole(file, first + 19, &at, NULL), 0);
	assert_true(at == second);
	assert_int_equal(dwarfs_file_seek_data(file, second, &at, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_file_seek_hole(file, end - 1, &at, NULL), 0);
	assert_true(at == end - 1);
	assert_int_equal(dwarfs_file_seek_hole(file, end, &at, NULL),
			 DWARFS_ERR_NOT_FOUND);

	assert_int_equal(dwarfs_file_read(file, bytes, 30, first - 5, &got, NULL), 0);
	assert_int_equal(got, 30);
	assert_memory_equal(bytes, "\0\0\0\0\0xxxxxxxxxxxxxxxxxxxx\0\0\0\0\0", 30);
	assert_int_equal(dwarfs_file_read(file, bytes, 64, end - 7, &got, NULL), 0);
	assert_int_equal(got, 7);
	dwarfs_file_free(file);
}

static int open_with(const struct craft_chunk *chunks, uint32_t count,
		     uint32_t hole_block, int *check_out)
{
	const uint32_t table[] = { 0, count };
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_file *file = NULL;
	uint8_t bytes[64] = { 0 };
	size_t got;
	int ret;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, bytes, 30);
	craft_files(&craft, chunks, table, 1, BLOCK_BYTES, hole_block);
	/* Chunks without any bits are refused at once. */
	*check_out = craft_try(craft.bytes.data, craft.bytes.size, NULL, &image, NULL);
	if (*check_out < 0)
		return *check_out;
	*check_out = dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, NULL, NULL, NULL,
					NULL, NULL);
	ret = dwarfs_read(image, dwarfs_inode_at(1), bytes, sizeof(bytes), 0, &got, NULL);
	if (dwarfs_file_open(image, dwarfs_inode_at(1), &file, NULL) == 0) {
		assert_int_equal(
			dwarfs_file_read(file, bytes, sizeof(bytes), 0, &got, NULL), ret);
		dwarfs_file_free(file);
	}
	return ret;
}

static void impossible_chunks_are_refused(void **state)
{
	static const struct {
		struct craft_chunk chunk;
		uint32_t hole_block;
	} cases[] = {
		{ { 0, 0, 0 }, 0 },		      /* empty */
		{ { 0, 0, 31 }, 0 },		      /* ends after the block */
		{ { 0, 29, 2 }, 0 },		      /* the same */
		{ { 0, 30, 1 }, 0 },		      /* starts there */
		{ { 0, 0, UINT32_MAX }, 0 },	      /* larger than any block */
		{ { 0, UINT32_MAX, UINT32_MAX }, 0 }, /* wraps in 32 bits */
		{ { 0, UINT32_MAX, 2 }, 0 },	      /* the same */
		{ { 0, BLOCK_BYTES, 1 }, 0 },	      /* offset too large */
		{ { 1, 0, 1 }, 0 },		      /* no such block */
		{ { UINT32_MAX, 0, 1 }, 0 },	      /* no such block */
		{ { 2, 0, 1 }, HOLE_BLOCK },	      /* no such block, nor a hole */
		{ { HOLE_BLOCK, 0, 0 }, HOLE_BLOCK }, /* empty hole */
		{ { HOLE_BLOCK, BLOCK_BYTES, 1 }, HOLE_BLOCK },
		{ { HOLE_BLOCK, UINT32_MAX, 1 }, HOLE_BLOCK }, /* no such large hole */
		{ { HOLE_BLOCK, UINT32_MAX, UINT32_MAX }, HOLE_BLOCK },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int check;

		assert_int_equal(
			open_with(&cases[i].chunk, 1, cases[i].hole_block, &check),
			DWARFS_ERR_CORRUPT);
		assert_int_equal(check, DWARFS_ERR_CORRUPT);
	}
}

/* The sum of large holes exceeds the maximum size of a file. */
static void a_file_that_is_too_large_is_refused(void **state)
{
	enum { COUNT = 70000 };
	const uint32_t table[] = { 0, COUNT };
	auto_craft struct craft craft = { 0 };
	auto_free struct craft_chunk *chunks = dw_calloc(COUNT, sizeof(*chunks));
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_file *file = NULL;
	dwarfs_stat *stat = NULL;

	/* 70000 times 2^32 - 1 blocks of 2^16 bytes. */
	for (uint32_t i = 0; i < COUNT; i++)
		chunks[i] = (struct craft_chunk){ HOLE_BLOCK, 1, UINT32_MAX };
	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, "x", 1);
	craft_files(&craft, chunks, table, 1, BLOCK_BYTES, HOLE_BLOCK);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(1), &file, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(1), stat, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL, NULL,
					    NULL, NULL, NULL),
			 DWARFS_ERR_CORRUPT);
	dwarfs_stat_free(stat);
}

/* Then there is no table of sums, and offsets are found by addition. */
static void a_broken_chunk_elsewhere_does_no_harm(void **state)
{
	enum { COUNT = 2000 };
	static struct craft_chunk chunks[COUNT + 1];
	static uint8_t block[BLOCK_BYTES];
	const uint32_t table[] = { 0, COUNT, COUNT + 1 };
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	struct dwarfs_stat stat;
	uint64_t offset = 0;

	for (uint32_t i = 0; i < BLOCK_BYTES; i++)
		block[i] = (uint8_t)(i * 7 + (i >> 8));
	for (uint32_t i = 0; i < COUNT; i++)
		chunks[i] = (struct craft_chunk){ 0, i * 13, 1 + i % 5 };
	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, block, BLOCK_BYTES);
	craft_files(&craft, chunks, table, 2, BLOCK_BYTES, 0);
	image = craft_open(&craft, NULL);
	for (uint32_t i = 0; i < COUNT; i++) {
		uint8_t byte;
		size_t got;

		assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), &byte, 1, offset,
					     &got, NULL),
				 0);
		assert_int_equal(got, 1);
		assert_int_equal(byte, block[i * 13]);
		offset += 1 + i % 5;
	}
	assert_null(dw_lazy_items(&image->view->sums));
	assert_int_equal(dw_view_inode_stat(image->view, 1, &stat, NULL), 0);
	assert_int_equal(stat.bytes, offset);
	assert_int_equal(dw_view_inode_stat(image->view, 2, &stat, NULL),
			 DWARFS_ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_agree_with_plain_sums),
		cmocka_unit_test(an_empty_file_has_no_places),
		cmocka_unit_test(reads_agree_with_plain_copies),
		cmocka_unit_test(holes_are_found_and_read_as_zeros),
		cmocka_unit_test(impossible_chunks_are_refused),
		cmocka_unit_test(a_file_that_is_too_large_is_refused),
		cmocka_unit_test(a_broken_chunk_elsewhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
