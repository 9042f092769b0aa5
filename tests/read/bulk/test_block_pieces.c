/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/block_pieces: which ranges of which blocks a file consists of.
 */
#include "read/bulk/block_pieces.h"
#include "read/bulk/world.h"

static uint64_t add_file(struct pieces *pieces, const dwarfs_image *image, uint32_t file)
{
	struct chunk_range range;
	uint64_t bytes = 0;

	assert_int_equal(dw_view_chunk_range(image->view, file + 1, &range, NULL), 0);
	assert_int_equal(dw_pieces_add(pieces, image, range, file, &bytes, NULL), 0);
	return bytes;
}

static void expect(const struct pieces *pieces, const struct piece *expected,
		   size_t count)
{
	assert_int_equal(pieces->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct piece *piece = &pieces->list[i];

		assert_int_equal(piece->at, expected[i].at);
		assert_int_equal(piece->bytes, expected[i].bytes);
		assert_int_equal(piece->block, expected[i].block);
		assert_int_equal(piece->offset, expected[i].offset);
		assert_int_equal(piece->is_hole, expected[i].is_hole);
	}
}

/* Two of its chunks are adjacent in the file and in the block. */
static void adjacent_chunks_are_one_piece(void **state)
{
	static const struct piece in_file[] = {
		{ .at = 0, .bytes = 70000, .block = 5, .offset = 1000 },
		{ .at = 70000, .bytes = 33, .block = 2, .offset = 90000 },
		{ .at = 70033, .bytes = 100010, .block = 5, .offset = 10 },
		{ .at = 170043, .bytes = 1, .block = 0, .offset = 7 },
	};
	const struct piece by_file[] = { in_file[3], in_file[1], in_file[0], in_file[2] };
	const struct piece by_offset[] = { in_file[3], in_file[1], in_file[2],
					   in_file[0] };
	auto_world struct world world;
	auto_pieces struct pieces pieces = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	make_world(&world, 0);
	image = open_world(&world, NULL);
	assert_int_equal(add_file(&pieces, image, BACK), size_of(&world, BACK));
	expect(&pieces, in_file, 4);
	dw_pieces_sort_by_file(&pieces);
	expect(&pieces, by_file, 4);
	assert_int_equal(dw_pieces_end_of_block(&pieces, 0), 1);
	assert_int_equal(dw_pieces_end_of_block(&pieces, 1), 2);
	assert_int_equal(dw_pieces_end_of_block(&pieces, 2), 4);
	assert_int_equal(dw_pieces_need(&pieces, 2, 4), 100020);
	assert_int_equal(dw_pieces_need(&pieces, 2, 3), 71000);
	dw_pieces_sort_by_offset(&pieces);
	expect(&pieces, by_offset, 4);
}

static void holes_have_the_block_of_their_neighbour(void **state)
{
	static const struct piece sparse[] = {
		{ .at = 0, .bytes = 100000, .block = 7, .is_hole = true },
		{ .at = 100000, .bytes = 5000, .block = 7, .offset = 3 },
		{ .at = 105000, .bytes = 200000, .block = 7, .is_hole = true },
		{ .at = 305000, .bytes = 5000, .block = 1, .offset = 3 },
		{ .at = 310000, .bytes = 70000, .block = 1, .is_hole = true },
	};
	const struct piece hole = { .bytes = BLOCK_BYTES + 30000,
				    .block = NO_BLOCK,
				    .is_hole = true };
	auto_world struct world world;
	auto_pieces struct pieces pieces = { 0 }, alone = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	make_world(&world, 0);
	image = open_world(&world, NULL);
	assert_int_equal(add_file(&pieces, image, SPARSE), 380000);
	expect(&pieces, sparse, 5);
	assert_int_equal(dw_pieces_need(&pieces, 0, 5), 5003);
	assert_int_equal(add_file(&alone, image, HOLE), hole.bytes);
	expect(&alone, &hole, 1);
	assert_int_equal(add_file(&alone, image, EMPTY), 0);
	assert_int_equal(alone.count, 1);
}

/* The pieces of the file before it remain, and nothing else. */
static void a_chunk_in_no_block_adds_nothing(void **state)
{
	static const struct craft_chunk chunks[] = { { 0, 0, 5 },
						     { 0, 9, 5 },
						     { 1, 0, 5 } };
	static const uint32_t table[] = { 0, 1, 3 };
	auto_craft struct craft craft = { 0 };
	auto_pieces struct pieces pieces = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	uint64_t bytes;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, "contents of files", 17);
	craft_files(&craft, chunks, table, 2, 1024, 0);
	image = craft_open(&craft, NULL);
	assert_int_equal(add_file(&pieces, image, 0), 5);
	assert_int_equal(dw_pieces_add(&pieces, image, (struct chunk_range){ 1, 3 }, 1,
				       &bytes, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(pieces.count, 1);
	assert_int_equal(pieces.list[0].file, 0);
}

/* Repeated bytes do not continue a piece, nor do bytes that begin before its end. */
static void repeated_bytes_are_pieces_of_their_own(void **state)
{
	static const struct craft_chunk chunks[] = { { 0, 4, 5 },
						     { 0, 4, 5 },
						     { 0, 8, 5 } };
	static const uint32_t table[] = { 0, 3 };
	auto_craft struct craft craft = { 0 };
	auto_pieces struct pieces pieces = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, "contents of files", 17);
	craft_files(&craft, chunks, table, 1, 1024, 0);
	image = craft_open(&craft, NULL);
	assert_int_equal(add_file(&pieces, image, 0), 15);
	assert_int_equal(pieces.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adjacent_chunks_are_one_piece),
		cmocka_unit_test(holes_have_the_block_of_their_neighbour),
		cmocka_unit_test(a_chunk_in_no_block_adds_nothing),
		cmocka_unit_test(repeated_bytes_are_pieces_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
