/* SPDX-License-Identifier: MIT */
/*
 * write/segment/block_filler: chunks of stored bytes and of references.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/segment/block_filler.h"

#define BLOCK_BYTES 1000

/* The second block of a stream that begins with block 7, which has 200 bytes. */
struct lab {
	uint8_t data[BLOCK_BYTES];
	struct block block;
	struct chunks chunks;
	struct fragment fragment;
	struct block_filler filler;
	struct fill_state fill;
};

static void begin(struct lab *lab)
{
	*lab = (struct lab){ 0 };
	lab->block = (struct block){
		.number = 8, .data = lab->data, .room = BLOCK_BYTES, .size = 200
	};
	lab->filler = (struct block_filler){ .chunks = &lab->chunks,
					     .block = &lab->block,
					     .block_bytes = BLOCK_BYTES,
					     .first_block = 7,
					     .last_block = 8,
					     .has_first_block = true };
	lab->fill = (struct fill_state){ &lab->fragment, UINT64_MAX, 0 };
}

static void expect_chunk(const struct lab *lab, size_t at, uint32_t block,
			 uint32_t offset, uint64_t size)
{
	assert_int_equal(lab->chunks.list[at].block, block);
	assert_int_equal(lab->chunks.list[at].offset, offset);
	assert_int_equal(lab->chunks.list[at].size, size);
}

static void store(struct lab *lab, const char *text)
{
	assert_int_equal(dw_block_filler_store(&lab->filler, &lab->fill,
					       (const uint8_t *)text, strlen(text), NULL),
			 0);
}

static void refer(struct lab *lab, uint64_t place, size_t size)
{
	assert_int_equal(
		dw_block_filler_refer(&lab->filler, &lab->fill, place, size, NULL), 0);
}

static void stored_bytes_are_one_chunk(void **state)
{
	struct lab lab;

	begin(&lab);
	store(&lab, "abc");
	store(&lab, "de");
	assert_int_equal(lab.chunks.count, 1);
	assert_int_equal(lab.fragment.chunk_count, 1);
	assert_int_equal(lab.fragment.size, 5);
	expect_chunk(&lab, 0, 8, 200, 5);
	assert_memory_equal(lab.data + 200, "abcde", 5);
	assert_int_equal(dw_block_filler_next(&lab.filler), BLOCK_BYTES + 205);
	assert_int_equal(dw_block_filler_end(&lab.filler), BLOCK_BYTES + 205);
	assert_int_equal(dw_block_filler_literals(&lab.filler, &lab.fill), 5);
	lab.filler.block = NULL; /* a closed block counts as a full one */
	assert_int_equal(dw_block_filler_end(&lab.filler), 2 * BLOCK_BYTES);
	dw_chunks_free(&lab.chunks);
}

static void a_block_is_full_where_its_memory_ends(void **state)
{
	struct lab lab;
	size_t room;

	begin(&lab);
	assert_int_equal(dw_block_filler_room(&lab.filler, &room, NULL), 0);
	assert_int_equal(room, BLOCK_BYTES - 200);
	lab.block.room = 300;
	assert_int_equal(dw_block_filler_room(&lab.filler, &room, NULL), 0);
	assert_int_equal(room, 100);
	lab.block.room = 2 * BLOCK_BYTES; /* of a stream with larger blocks */
	assert_int_equal(dw_block_filler_room(&lab.filler, &room, NULL), 0);
	assert_int_equal(room, BLOCK_BYTES - 200);
}

static void references_are_split_at_blocks(void **state)
{
	struct lab lab;

	begin(&lab);
	refer(&lab, 900, 150);
	assert_int_equal(lab.chunks.count, 2);
	expect_chunk(&lab, 0, 7, 900, 100);
	expect_chunk(&lab, 1, 8, 0, 50);
	assert_int_equal(lab.fill.next_place, 1050);
	refer(&lab, 1050, 20); /* continues at its end */
	assert_int_equal(lab.chunks.count, 2);
	expect_chunk(&lab, 1, 8, 0, 70);
	assert_int_equal(lab.fragment.size, 170);
	assert_int_equal(lab.block.size, 200); /* nothing was stored */
	dw_chunks_free(&lab.chunks);
}

static void only_own_bytes_are_removed_again(void **state)
{
	struct lab lab;

	begin(&lab);
	refer(&lab, BLOCK_BYTES + 190, 10);
	assert_int_equal(dw_block_filler_literals(&lab.filler, &lab.fill), 0);
	store(&lab, "abcd"); /* right after the referenced bytes: one chunk */
	assert_int_equal(lab.chunks.count, 1);
	expect_chunk(&lab, 0, 8, 190, 14);
	assert_int_equal(dw_block_filler_literals(&lab.filler, &lab.fill), 4);
	dw_block_filler_take_back(&lab.filler, &lab.fill, 3);
	expect_chunk(&lab, 0, 8, 190, 11);
	assert_int_equal(lab.block.size, 201);
	assert_int_equal(lab.fragment.size, 11);
	assert_int_equal(dw_block_filler_literals(&lab.filler, &lab.fill), 1);
	dw_chunks_free(&lab.chunks);
}

static void a_chunk_without_bytes_is_removed(void **state)
{
	struct lab lab;

	begin(&lab);
	refer(&lab, 5, 10);
	store(&lab, "abcd");
	assert_int_equal(lab.fragment.chunk_count, 2);
	dw_block_filler_take_back(&lab.filler, &lab.fill, 4);
	assert_int_equal(lab.fragment.chunk_count, 1);
	assert_int_equal(lab.chunks.count, 1);
	assert_int_equal(lab.fragment.size, 10);
	assert_int_equal(lab.block.size, 200);
	dw_chunks_free(&lab.chunks);
}

/* Adjacent holes are not joined into one chunk. */
static void holes_are_chunks_of_their_own(void **state)
{
	struct chunk hole = { DW_NONE, 0, 300 };
	struct fragment other = { 0 };
	struct lab lab;

	begin(&lab);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			dw_block_filler_add_chunk(&lab.filler, &lab.fragment, hole, NULL),
			0);
	assert_int_equal(lab.chunks.count, 2);
	assert_int_equal(lab.fragment.size, 600);
	assert_int_equal(dw_block_filler_add_chunk(&lab.filler, &other,
						   (struct chunk){ 7, 0, 10 }, NULL),
			 0);
	assert_int_equal(other.chunk_count, 1); /* not one of the other fragment */
	dw_chunks_free(&lab.chunks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_bytes_are_one_chunk),
		cmocka_unit_test(a_block_is_full_where_its_memory_ends),
		cmocka_unit_test(references_are_split_at_blocks),
		cmocka_unit_test(only_own_bytes_are_removed_again),
		cmocka_unit_test(a_chunk_without_bytes_is_removed),
		cmocka_unit_test(holes_are_chunks_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
