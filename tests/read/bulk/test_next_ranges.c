/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/next_ranges: a block that is decoded again also gives the bytes of the files
 * that follow the one being read.
 */
#include <stdio.h>

#include "read/bulk/world.h"

static void read_small(const struct world *world, const dwarfs_image *image,
		       uint32_t file)
{
	static uint8_t bytes[SMALL_BYTES];
	size_t got;

	for (uint32_t at = 0; at < SMALL_BYTES; at += 5000) {
		assert_int_equal(dwarfs_read(image, dwarfs_inode_at(file + 1), bytes,
					     5000, at, &got, NULL),
				 0);
		assert_int_equal(got, 5000);
		assert_true(is_right(world, file, bytes, 5000, at));
	}
}

/* Without a hint about the next file: decoding a block again also stores the ranges that
 * the following files need. */
static void neighbours_are_kept_when_blocks_come_again(void **state)
{
	auto_world struct world world;
	uint64_t budget = SMALL * SMALL_BYTES + 100000, decoded;
	dwarfs_context *context = context_with(budget, 1);
	dwarfs_image *image;

	make_world(&world, 0);
	image = open_world(&world, context);
	for (uint32_t i = 0; i < SMALL; i++)
		read_small(&world, image, i);
	decoded = count_of(context, DWARFS_CACHE_DECODED_BYTES);
	print_message("          %d blocks: %.1f times decoded\n", BLOCKS,
		      (double)decoded / BLOCKS / BLOCK_BYTES);
	assert_true(decoded <= UINT64_C(3) * BLOCKS * BLOCK_BYTES);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= budget + ALONE_BYTES);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_are_kept_when_blocks_come_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
