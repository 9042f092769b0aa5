/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/prefetch: files read ahead together, by dwarfs_prefetch().
 */
#include <pthread.h>
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

/* If half of the files of a directory and two of its nine blocks fit into the cache, each
 * block is decoded once for each half. */
static void files_all_over_the_blocks_are_harvested(void **state)
{
	for (uint32_t workers = 0; workers < 3; workers++) {
		auto_world struct world world;
		uint64_t budget = SMALL * SMALL_BYTES + 100000, misses;
		dwarfs_context *context = context_with(budget, workers);
		dwarfs_inode inodes[SMALL];
		dwarfs_image *image;
		uint32_t first = 0;

		make_world(&world, 0);
		image = open_world(&world, context);
		for (uint32_t i = 0; i < SMALL; i++)
			inodes[i] = dwarfs_inode_at(i + 1);
		for (int round = 0; first < SMALL; round++) {
			int ready = dwarfs_prefetch(image, &inodes[first], SMALL - first,
						    NULL);

			assert_true(ready > 30 || first + (uint32_t)ready == SMALL);
			misses = count_of(context, DWARFS_CACHE_MISSES);
			assert_true(misses <= (uint64_t)BLOCKS * (round + 1));
			for (int i = 0; i < ready; i++)
				read_small(&world, image, first++);
			assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), misses);
		}
		assert_true(count_of(context, DWARFS_CACHE_DECODED_BYTES) <=
			    UINT64_C(2) * BLOCKS * BLOCK_BYTES + SMALL_BYTES);
		assert_true(count_of(context, DWARFS_CACHE_EXTENTS) > 0);
		assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <=
			    budget + ALONE_BYTES);
		dwarfs_context_trim(context, 0);
		assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
		assert_int_equal(count_of(context, DWARFS_CACHE_USED), 0);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

/* If barely one block fits, each is still decoded once when reads alternate between
 * blocks. */
static void blocks_that_are_too_large_are_harvested(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(400000, 2);
	const uint32_t first = (PER_BLOCK - 2) * BLOCKS; /* near the ends of blocks */
	dwarfs_inode inodes[4] = { { first + 1 },
				   { first + 2 },
				   { first + BLOCKS + 1 },
				   { first + BLOCKS + 2 } };
	dwarfs_image *image;

	make_world(&world, 0);
	image = open_world(&world, context);
	assert_int_equal(dwarfs_prefetch(image, inodes, 4, NULL), 4);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), 2);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 2);
	for (int i = 0; i < 4; i++)
		read_small(&world, image, inodes[i].number - 1);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), 2);
	assert_true(count_of(context, DWARFS_CACHE_USED) <= 400000);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

/* Blocks that are read one after the other are decoded once even without prefetching. */
static void what_is_in_order_is_left_alone(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(400000, 2);
	dwarfs_inode inodes[] = {
		{ 1 }, { 1 + BLOCKS }, { 1 + 2 * BLOCKS }, { 2 }, { 2 + BLOCKS }
	};
	dwarfs_image *image;
	int ready;

	make_world(&world, 0);
	image = open_world(&world, context);
	ready = dwarfs_prefetch(image, inodes, 5, NULL);
	assert_in_range(ready, 0, 4);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void what_fits_is_prefetched_whole(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20, 2);
	dwarfs_inode inodes[SMALL + 2];
	dwarfs_image *image;

	make_world(&world, DAMAGED);
	image = open_world(&world, context);
	for (uint32_t i = 0; i < SMALL; i++)
		inodes[i] = dwarfs_inode_at(i + 1);
	inodes[SMALL] = DWARFS_ROOT_INODE; /* not a file: skipped */
	inodes[SMALL + 1] = dwarfs_inode_at(SPARSE + 1);
	assert_int_equal(dwarfs_prefetch(image, inodes, SMALL + 2, NULL), SMALL + 2);
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), BLOCKS - 1);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), BLOCKS);
	for (uint32_t i = 0; i < SMALL; i++)
		if (!uses_block(&world, i, BAD))
			read_small(&world, image, i);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), BLOCKS);
	inodes[0] = dwarfs_inode_at(100000);
	assert_int_equal(dwarfs_prefetch(image, inodes, 2, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_prefetch(image, inodes, 0, NULL), 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void without_a_budget_nothing_is_prefetched(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(0, 2);
	dwarfs_inode inodes[] = { { 1 }, { 2 }, { WHOLE + 1 } };
	dwarfs_image *image;

	make_world(&world, 0);
	image = open_world(&world, context);
	assert_true(dwarfs_prefetch(image, inodes, 3, NULL) >= 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_MISSES), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_USED), 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void *change_budget(void *user)
{
	for (uint32_t i = 0; i < 200; i++)
		(void)dwarfs_context_set_cache_bytes(user, (i % 7) << 20, NULL);
	return NULL;
}

/* For the thread sanitizer: the budget may change at any time. */
static void the_budget_may_change_meanwhile(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(1 << 20, 2);
	dwarfs_inode inodes[SMALL];
	dwarfs_image *image;
	pthread_t thread;

	make_world(&world, 0);
	image = open_world(&world, context);
	for (uint32_t i = 0; i < SMALL; i++)
		inodes[i] = dwarfs_inode_at(i + 1);
	assert_int_equal(pthread_create(&thread, NULL, change_budget, context), 0);
	for (uint32_t first = 0; first < SMALL; first++)
		assert_true(dwarfs_prefetch(image, &inodes[first], SMALL - first, NULL) >=
			    0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	read_small(&world, image, 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_all_over_the_blocks_are_harvested),
		cmocka_unit_test(blocks_that_are_too_large_are_harvested),
		cmocka_unit_test(what_is_in_order_is_left_alone),
		cmocka_unit_test(what_fits_is_prefetched_whole),
		cmocka_unit_test(without_a_budget_nothing_is_prefetched),
		cmocka_unit_test(the_budget_may_change_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
