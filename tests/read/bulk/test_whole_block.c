/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/whole_block: the bytes of a block, decoded as far as needed.
 */
#include "read/bulk/whole_block.h"
#include "read/bulk/world.h"

static void assert_bytes(const struct whole *whole, uint32_t block, uint64_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (whole->bytes[i] != byte_of(block, i))
			fail_msg("block %u differs at %u", block, i);
}

/* With several codecs; the memory of a block is reused for the next. */
static void blocks_are_decoded_as_far_as_needed(void **state)
{
	static const uint64_t needs[] = { BLOCK_BYTES, 1000, 1 };
	auto_world struct world world;
	auto_test_image dwarfs_image *image = NULL;
	struct whole whole = { 0 };

	make_world(&world, 0);
	image = open_world(&world, NULL);
	for (uint32_t block = 0; block < BLOCKS; block++)
		for (size_t i = 0; i < 3; i++) {
			uint8_t *pages = whole.pages;
			size_t page_bytes = whole.page_bytes;

			dw_stored_free(&whole.stored);
			whole = (struct whole){ .need = needs[i],
						.pages = pages,
						.page_bytes = page_bytes };
			assert_int_equal(dw_whole_load(image, block, &whole, NULL), 0);
			assert_int_equal(whole.need, needs[i]);
			assert_bytes(&whole, block, needs[i]);
			if (pages)
				assert_ptr_equal(whole.pages, pages);
		}
	dw_whole_release(image, &whole);
	assert_null(whole.pages);
}

static void only_pieces_after_the_end_of_a_block_fail(void **state)
{
	auto_world struct world world;
	auto_test_image dwarfs_image *image = NULL;
	struct whole whole = { .need = BLOCK_BYTES };
	struct piece piece = { .offset = SHORT_BYTES - 10, .bytes = 10 };

	make_world(&world, SHORT);
	image = open_world(&world, NULL);
	assert_int_equal(dw_whole_load(image, BLOCKS - 1, &whole, NULL), 0);
	assert_int_equal(whole.need, SHORT_BYTES);
	assert_bytes(&whole, BLOCKS - 1, SHORT_BYTES);
	assert_int_equal(dw_whole_has(&whole, &piece, NULL), 0);
	piece.bytes++;
	assert_int_equal(dw_whole_has(&whole, &piece, NULL), DWARFS_ERR_CORRUPT);
	piece.is_hole = true;
	assert_int_equal(dw_whole_has(&whole, &piece, NULL), 0);
	dw_whole_release(image, &whole);
}

static void a_damaged_block_is_an_error(void **state)
{
	auto_world struct world world;
	auto_test_image dwarfs_image *image = NULL;
	struct whole whole = { .need = 1 };

	make_world(&world, DAMAGED);
	image = open_world(&world, NULL);
	assert_int_equal(dw_whole_load(image, BAD, &whole, NULL), DWARFS_ERR_CHECKSUM);
	dw_whole_release(image, &whole);
}

/* Cached bytes are not decoded again; bytes decoded here are not added to the cache. */
static void the_cache_is_used_and_not_changed(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(UINT64_C(64) << 20, 0);
	auto_test_image dwarfs_image *image = NULL;

	make_world(&world, 0);
	image = open_world(&world, context);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		struct whole whole = { .need = 1000 };

		assert_int_equal(dw_whole_load(image, block, &whole, NULL), 0);
		assert_null(whole.cached.data);
		dw_whole_release(image, &whole);
		assert_int_equal(count_of(context, DWARFS_CACHE_DECODED_BYTES), 0);
		assert_false(dw_cache_has(image, block, (struct range){ 0, 1 }));
	}
	for (uint32_t block = 0; block < BLOCKS; block++) {
		struct whole whole = { .need = 1000 };

		assert_int_equal(dwarfs_image_preload_block(image, block, NULL), 0);
		assert_int_equal(dw_whole_load(image, block, &whole, NULL), 0);
		assert_non_null(whole.cached.data);
		assert_ptr_equal(whole.bytes, whole.cached.data);
		assert_bytes(&whole, block, 1000);
		dw_whole_release(image, &whole);
	}
	dwarfs_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_decoded_as_far_as_needed),
		cmocka_unit_test(only_pieces_after_the_end_of_a_block_fail),
		cmocka_unit_test(a_damaged_block_is_an_error),
		cmocka_unit_test(the_cache_is_used_and_not_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
