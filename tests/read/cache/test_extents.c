/* SPDX-License-Identifier: MIT */
/*
 * read/cache/extents: ranges of a block that cannot be kept.
 */
#include "read/cache/world.h"

/* Ranges for which there is no space in addition to the block are read from the block,
 * which is kept. */
static void ranges_beyond_the_budget_are_not_lost(void **state)
{
	static const struct range list[] = { { 0, 280 << 10 },
					     { 300 << 10, 280 << 10 },
					     { 600 << 10, 280 << 10 } };
	static const struct block_spec spec = { CODEC_ZSTD, 0 };
	const struct range_list range_list = { list, 3 };
	dwarfs_context *context = context_with(3 << 19);
	auto_world struct world world;
	dwarfs_image *image;
	uint64_t before;

	make_world(&world, &spec, 1, 1 << 20);
	image = craft_open(&world.craft, context);
	assert_int_equal(dw_cache_keep_ranges(image, 0, &range_list, NULL), 0);
	assert_true(count_of(context, DWARFS_CACHE_EXTENTS) > 0);
	before = decoded(context);
	for (size_t i = 0; i < range_list.count; i++)
		assert_int_equal(
			try_read(&world, image, 0, list[i].from, (size_t)list[i].size),
			0);
	assert_int_equal(decoded(context), before);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= 3 << 19);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

#define MANY	   12000u
#define MANY_BYTES (16u << 20)
#define MANY_SIZE  600u

static struct range nth_range(uint32_t i)
{
	return (struct range){ (uint64_t)i * (MANY_BYTES / MANY), MANY_SIZE };
}

/* Each number below MANY once, shuffled. */
static uint32_t shuffled(uint32_t i)
{
	return (uint32_t)((uint64_t)i * 7919 % MANY);
}

static void expect_nth(const struct world *world, dwarfs_image *image, uint32_t i)
{
	struct range range = nth_range(i);
	uint64_t end = range.from + range.size;

	while (range.from < end) {
		struct cached cached;

		range.size = end - range.from;
		assert_int_equal(dw_cache_get(image, 0, range, &cached, NULL), 0);
		assert_in_range(cached.size, 1, range.size);
		assert_memory_equal(cached.data, bytes_at(world, 0, range.from),
				    cached.size);
		dw_cache_put(image, &cached);
		range.from += cached.size;
	}
}

/* Many small ranges of a block that cannot be kept: found in any order, ranges between
 * them that are requested later are not duplicated, and all are freed. */
static void many_parts_of_a_block_are_kept(void **state)
{
	static const struct block_spec spec = { CODEC_ZSTD, 0 };
	dwarfs_context *context = context_with(2 * MANY_BYTES);
	auto_free struct range *list = dw_calloc(MANY, sizeof(*list));
	struct range_list range_list = { list, 0 };
	auto_world struct world world;
	dwarfs_image *image;
	uint64_t twice;

	make_world(&world, &spec, 1, MANY_BYTES);
	image = craft_open(&world.craft, context);
	/* Half of them at first, then all. */
	for (uint32_t i = 0; i < MANY; i += 2)
		list[range_list.count++] = nth_range(i);
	assert_int_equal(dw_cache_keep_ranges(image, 0, &range_list, NULL), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), MANY / 2);
	/* The block was not kept. */
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 0);
	for (range_list.count = 0; range_list.count < MANY; range_list.count++)
		list[range_list.count] = nth_range((uint32_t)range_list.count);
	assert_int_equal(dw_cache_keep_ranges(image, 0, &range_list, NULL), 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_EXTENTS), MANY);
	twice = decoded(context);
	for (uint32_t i = 0; i < MANY; i++)
		expect_nth(&world, image, shuffled(i));
	assert_int_equal(decoded(context), twice);
	/* Ranges that are partly present. */
	for (range_list.count = 0; range_list.count < 16; range_list.count++)
		list[range_list.count] =
			(struct range){ range_list.count << 18, 1 << 18 };
	assert_int_equal(dw_cache_keep_ranges(image, 0, &range_list, NULL), 0);
	assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <= 2 * MANY_BYTES);
	for (uint32_t i = 0; i < MANY / 4; i++)
		expect_nth(&world, image, MANY / 4 - 1 - i);
	expect_read(&world, image, 0, 0, 1 << 20);
	expect_nothing_left(context);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_beyond_the_budget_are_not_lost),
		cmocka_unit_test(many_parts_of_a_block_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
