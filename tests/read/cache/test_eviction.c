/* SPDX-License-Identifier: MIT */
/*
 * read/cache/eviction: blocks larger than the budget, more blocks than fit, held blocks,
 * and extents that are not read again. Decoded bytes are counted, bytes read are
 * compared.
 */
#include <stdio.h>

#include "read/cache/world.h"

#define LARGE_BYTES (2u << 20)
#define LARGE_STEP  (16u << 10)

static void walk(const struct world *world, const dwarfs_image *image,
		 struct walker *walkers, uint32_t count)
{
	bool goes_on = true;

	while (goes_on) {
		goes_on = false;
		for (uint32_t i = 0; i < count; i++) {
			struct walker *walker = &walkers[i];
			uint64_t size = walker->end - walker->at;

			if (size > LARGE_STEP)
				size = LARGE_STEP;
			if (size == 0)
				continue;
			expect_read(world, image, walker->block, walker->at, size);
			walker->at += size;
			goes_on = true;
		}
	}
}

static const enum codec_id large_codecs[] = { CODEC_ZSTD, CODEC_LZMA, CODEC_NONE };

/* Let a number of readers read a number of blocks; gives how often the bytes were
 * decoded, in hundredths. */
static uint64_t walk_together(const struct world *world, uint64_t budget, uint32_t blocks,
			      uint32_t count)
{
	dwarfs_context *context = context_with(budget);
	auto_test_image dwarfs_image *image = craft_open(&world->craft, context);
	struct walker walkers[16];
	uint32_t each = count / blocks;
	uint64_t bytes = (uint64_t)blocks * world->block_bytes, percent;
	uint64_t alone = most_alone(world);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t stretch = world->block_bytes / each;

		walkers[i] = (struct walker){ i / each, i % each * stretch,
					      (i % each + 1) * stretch };
	}
	walk(world, image, walkers, count);
	percent = decoded(context) * 100 / bytes;
	assert_true(count_of(context, DWARFS_CACHE_USED) <= budget);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <=
		    budget + (alone > budget ? alone : 0));
	expect_nothing_left(context);
	dwarfs_context_free(context);
	return percent;
}

static void make_large(struct world *world, enum codec_id id, uint32_t blocks)
{
	struct block_spec specs[MAX_BLOCKS];

	for (uint32_t i = 0; i < blocks; i++)
		specs[i] = (struct block_spec){ id, 0 };
	make_world(world, specs, blocks, LARGE_BYTES);
}

/* Several blocks with each codec, and the maximum number of decodes. */
struct walk_case {
	uint64_t budget;
	uint32_t blocks, readers;
	uint64_t most_percent;
};

static void walk_all(const struct walk_case *cases, size_t count)
{
	for (size_t c = 0; c < sizeof(large_codecs) / sizeof(large_codecs[0]); c++) {
		if (!has_codec(large_codecs[c]))
			continue;

		auto_world struct world world;

		make_large(&world, large_codecs[c], 4);
		for (size_t i = 0; i < count; i++) {
			uint64_t percent =
				walk_together(&world, cases[i].budget, cases[i].blocks,
					      cases[i].readers);

			print_message("          codec %d: budget %" PRIu64
				      " KiB, %u blocks, %u readers: %" PRIu64
				      "%% decoded\n",
				      (int)large_codecs[c], cases[i].budget >> 10,
				      cases[i].blocks, cases[i].readers, percent);
			assert_true(percent <= cases[i].most_percent);
			if (large_codecs[c] == CODEC_NONE)
				assert_int_equal(percent, 0);
		}
	}
}

#define WALK_ALL(cases) walk_all(cases, sizeof(cases) / sizeof(*(cases)))

/* A block is decoded from its start for each window that fits into the cache: half as
 * often as it is larger than the cache, and once more. */
static void one_reader_of_a_large_block(void **state)
{
	static const struct walk_case cases[] = {
		{ LARGE_BYTES * 2, 1, 1, 100 },
		{ LARGE_BYTES / 2, 1, 1, 250 },
		{ LARGE_BYTES / 4, 1, 1, 400 },
		{ LARGE_BYTES / 8, 1, 1, 650 },
	};

	WALK_ALL(cases);
}

static void two_readers_of_large_blocks(void **state)
{
	static const struct walk_case cases[] = {
		{ LARGE_BYTES / 2, 1, 2, 650 },
		{ LARGE_BYTES / 2, 2, 2, 650 },
	};

	WALK_ALL(cases);
}

/* Each fits, but not all of them: when a block is evicted, the bytes after its
 * reader's offset are kept, as far as there is space in addition to another block. */
static void readers_of_more_blocks_than_fit(void **state)
{
	static const struct walk_case cases[] = {
		{ LARGE_BYTES * 2, 4, 4, 400 },	    { LARGE_BYTES / 2 * 5, 4, 4, 250 },
		{ LARGE_BYTES * 3, 4, 4, 250 },	    { LARGE_BYTES / 4 * 5, 2, 2, 350 },
		{ LARGE_BYTES / 2 * 3, 2, 2, 300 }, { LARGE_BYTES / 4 * 7, 2, 2, 250 },
		{ LARGE_BYTES * 2, 2, 2, 200 },	    { LARGE_BYTES / 2 * 3, 4, 4, 1100 },
	};

	WALK_ALL(cases);
}

/* With too many readers for the cache, bytes and memory are right. */
static void too_many_readers(void **state)
{
	static const struct walk_case cases[] = {
		{ LARGE_BYTES / 4, 1, 2, UINT64_MAX },
		{ LARGE_BYTES / 4, 4, 4, UINT64_MAX },
		{ LARGE_BYTES / 2, 4, 8, UINT64_MAX },
		{ LARGE_BYTES * 2, 4, 16, UINT64_MAX },
	};

	WALK_ALL(cases);
}

/* -- extents that are not read again ------------------------------------------------- */

#define HOT_BYTES (64u << 10)
#define HOT	  4u

static uint64_t read_hot(const struct world *world, const dwarfs_image *image,
			 dwarfs_context *context)
{
	uint64_t before = count_of(context, DWARFS_CACHE_MISSES);

	for (uint32_t i = 0; i < HOT; i++)
		expect_read(world, image, i, 0, HOT_BYTES);
	return count_of(context, DWARFS_CACHE_MISSES) - before;
}

static void make_hot(struct world *world)
{
	static const struct block_spec specs[HOT] = {
		{ CODEC_ZSTD, 0 }, { CODEC_LZMA, 0 }, { CODEC_NONE, 0 }, { CODEC_ZSTD, 0 }
	};

	make_world(world, specs, HOT, HOT_BYTES);
}

static void readers_that_stop_are_forgotten(void **state)
{
	auto_world struct world large, hot;
	const uint64_t budget = LARGE_BYTES * 3 / 8;
	dwarfs_context *context = context_with(budget);
	dwarfs_image *image, *other;

	make_large(&large, CODEC_ZSTD, 2);
	make_hot(&hot);
	image = craft_open(&large.craft, context);
	other = craft_open(&hot.craft, context);
	for (uint32_t i = 0; i < 6; i++)
		expect_read(&large, image, i % 2, (i + 2) * (LARGE_BYTES / 9),
			    LARGE_STEP);
	assert_true(count_of(context, DWARFS_CACHE_EXTENTS) > 0);
	assert_true(count_of(context, DWARFS_CACHE_USED) <= budget);
	/* Other ranges, three times of which would fit, are kept. */
	for (int round = 0; round < 3; round++)
		read_hot(&hot, other, context);
	for (int round = 0; round < 10; round++)
		assert_int_equal(read_hot(&hot, other, context), 0);
	expect_nothing_left(context);
	dwarfs_image_free(image);
	dwarfs_image_free(other);
	dwarfs_context_free(context);
}

/* During a sequential read of a block that cannot be kept: most of the time. */
static void what_is_hot_stays(void **state)
{
	auto_world struct world large, hot;
	const uint64_t budget = LARGE_BYTES * 3 / 8;
	dwarfs_context *context = context_with(budget);
	dwarfs_image *image, *other;
	uint64_t misses = 0, reads = 0;

	make_large(&large, CODEC_ZSTD, 1);
	make_hot(&hot);
	image = craft_open(&large.craft, context);
	other = craft_open(&hot.craft, context);
	for (uint64_t at = 0; at < LARGE_BYTES; at += LARGE_STEP) {
		expect_read(&large, image, 0, at, LARGE_STEP);
		misses += read_hot(&hot, other, context);
		reads += HOT;
	}
	print_message("          %" PRIu64 " misses in %" PRIu64 " reads\n", misses,
		      reads);
	assert_true(misses * 2 < reads);
	expect_nothing_left(context);
	dwarfs_image_free(image);
	dwarfs_image_free(other);
	dwarfs_context_free(context);
}

/* Held blocks can still be decoded further: that is counted from the beginning. */
static void held_blocks_may_grow_within_the_budget(void **state)
{
	static const struct block_spec specs[MAX_BLOCKS] = {
		{ CODEC_LZMA, 0 }, { CODEC_LZMA, 0 }, { CODEC_LZMA, 0 },
		{ CODEC_LZMA, 0 }, { CODEC_LZMA, 0 }, { CODEC_LZMA, 0 },
		{ CODEC_LZMA, 0 }, { CODEC_LZMA, 0 },
	};
	const uint64_t budget = UINT64_C(8) << 20;
	dwarfs_context *context = context_with(budget);
	dwarfs_borrowed *borrowed[MAX_BLOCKS] = { NULL };
	auto_world struct world world;
	dwarfs_image *image;

	make_world(&world, specs, MAX_BLOCKS, 1 << 20);
	image = craft_open(&world.craft, context);
	for (uint32_t i = 0; i < MAX_BLOCKS; i++) {
		dwarfs_file *file = NULL;

		assert_int_equal(
			dwarfs_file_open(image, dwarfs_inode_at(i + 1), &file, NULL), 0);
		assert_int_equal(dwarfs_file_borrow(file, 10, 0, &borrowed[i], NULL), 0);
		dwarfs_file_free(file);
	}
	for (uint32_t i = 0; i < MAX_BLOCKS; i++)
		assert_int_equal(try_read(&world, image, i, (1 << 20) - 4096, 10), 0);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= budget);
	for (uint32_t i = 0; i < MAX_BLOCKS; i++)
		dwarfs_borrowed_free(borrowed[i]);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_reader_of_a_large_block),
		cmocka_unit_test(two_readers_of_large_blocks),
		cmocka_unit_test(readers_of_more_blocks_than_fit),
		cmocka_unit_test(too_many_readers),
		cmocka_unit_test(readers_that_stop_are_forgotten),
		cmocka_unit_test(what_is_hot_stays),
		cmocka_unit_test(held_blocks_may_grow_within_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
