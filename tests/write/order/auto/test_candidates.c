/* SPDX-License-Identifier: MIT */
/*
 * order/auto/candidates: the order with the lowest forecast is chosen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/encode/encode.h"
#include "support/write_run.h"
#include "write/builder.h"
#include "write/order/auto/candidates.h"

#define DAYS	  4
#define DAY_FILES 64
#define DAY_BYTES 72000

/* As put_releases(), but each directory is larger than the minimum for directories read
 * as a whole, and smaller than a block. */
static void put_days(const struct place *place)
{
	uint8_t *data = malloc(DAY_BYTES);
	uint32_t random = 1;
	char name[32];

	for (unsigned day = 0; day < DAYS; day++) {
		snprintf(name, sizeof(name), "day%u", day);
		put_dir(place, name);
		for (unsigned f = 0; f < DAY_FILES; f++) {
			for (size_t i = 0; i < DAY_BYTES; i++) {
				random =
					random * UINT32_C(1664525) + UINT32_C(1013904223);
				data[i] = (uint8_t)(random >> 24);
			}
			snprintf(name, sizeof(name), "day%u/file%02u", day, f);
			put_file(place, name, data, DAY_BYTES);
		}
	}
	free(data);
}

/* The number of blocks per directory is also forecast if blocks are larger than
 * directories. */
static void spread_is_seen_in_large_blocks(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 0);
	const char *by_name;
	double times = 0;

	put_days(place);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 23, NULL), 0);
	assert_int_equal(dwarfs_builder_set_order(builder, "auto", NULL), 0);
	assert_int_equal(build(builder, place), 0);
	dwarfs_builder_free(builder);
	by_name = strstr(all_messages(), "order siblings by name: ");
	assert_non_null(by_name);
	assert_int_equal(
		sscanf(by_name, "order siblings by name: score %*u KiB, %lf", &times), 1);
	/* Ordered by path a directory is in one or two of the three blocks, next to its
	 * versions in all three. */
	assert_true(times >= 1.5);
	dwarfs_image_free(open_image(place));
}

static void spread_counts_where_blocks_are_read_again(void **state)
{
	const double cached = 200e6, large = 600e6;

	(void)state;
	assert_true(dw_spread_penalty((uint64_t)16 << 20, large) > 0);
	assert_true(dw_spread_penalty((uint64_t)16 << 20, cached) == 0);
	assert_true(dw_spread_penalty((uint64_t)64 << 20, large) == 0);
}

#define SOURCES	     12
#define SOURCE_BYTES ((size_t)128 << 10)
#define PART_BYTES   6000

/* Directories of two blocks each, and one with parts of all of them. */
static void put_parts(const struct place *place)
{
	uint8_t *mixed = malloc(3 * SOURCES * PART_BYTES), *data = malloc(SOURCE_BYTES);
	uint32_t random = 7;
	char name[32];

	for (size_t i = 0; i < SOURCES; i++) {
		for (size_t j = 0; j < SOURCE_BYTES; j++) {
			random = random * UINT32_C(1664525) + UINT32_C(1013904223);
			data[j] = (uint8_t)(random >> 24);
		}
		for (size_t j = 0; j < 3; j++)
			memcpy(mixed + (3 * i + j) * PART_BYTES,
			       data + 2 * j * PART_BYTES, PART_BYTES);
		snprintf(name, sizeof(name), "d%02zu", i);
		put_dir(place, name);
		snprintf(name, sizeof(name), "d%02zu/f", i);
		put_file(place, name, data, SOURCE_BYTES);
	}
	put_dir(place, "z");
	put_file(place, "z/parts", mixed, 3 * SOURCES * PART_BYTES);
	free(mixed);
	free(data);
}

#define SHARED_FILES 300
#define SHARED_BYTES 4000

/* Two directories with the same files, but half of the second ones have two bytes more. */
static void put_shared(const struct place *place)
{
	uint8_t data[SHARED_BYTES + 2] = "xx";
	uint32_t random = 5;
	char name[32];

	put_dir(place, "p");
	put_dir(place, "q");
	for (unsigned f = 0; f < SHARED_FILES; f++) {
		unsigned more = f % 2 ? 0 : 2;

		for (size_t i = 0; i < SHARED_BYTES; i++) {
			random = random * UINT32_C(1664525) + UINT32_C(1013904223);
			data[2 + i] = (uint8_t)(random >> 24);
		}
		snprintf(name, sizeof(name), "p/file%04u", f);
		put_file(place, name, data + 2, SHARED_BYTES);
		snprintf(name, sizeof(name), "q/file%04u", f);
		put_file(place, name, data + 2 - more, SHARED_BYTES + more);
	}
}

/* Bytes saved by segments. */
static uint64_t pack_by(const struct place *place, const char *codec, const char *order,
			uint64_t near_bytes)
{
	dwarfs_builder *builder = new_builder(place, 0);
	uint64_t found;

	assert_int_equal(dwarfs_builder_set_level(builder, 3, NULL), 0);
	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, codec, NULL), 0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 16, NULL), 0);
	assert_int_equal(dwarfs_builder_set_order(builder, order, NULL), 0);
	builder->options.near_bytes = near_bytes;
	builder->options.foreign_bytes = 0;
	remove(place->image);
	assert_int_equal(build(builder, place), 0);
	found = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_SEGMENTS);
	dwarfs_builder_free(builder);
	return found;
}

static uint64_t pack_in_small_blocks(const struct place *place, const char *order,
				     uint64_t near_bytes)
{
	return pack_by(place, "lz4", order, near_bytes);
}

/* A number of KiB in the last forecast of the order by path, after these words. */
static double forecast_bytes(const char *words)
{
	const char *by_path = NULL, *next = all_messages();
	double kib = -1;

	while ((next = strstr(next, "order path: score")))
		by_path = next++;
	assert_non_null(by_path);
	by_path = strstr(by_path, words);
	assert_non_null(by_path);
	assert_int_equal(sscanf(by_path + strlen(words), "%lf KiB", &kib), 1);
	return kib * 1024;
}

static double forecast_copies(void)
{
	return forecast_bytes(" segments, ");
}

/* What the segmenter finds in blocks that the directory should not be in. */
static void copies_are_forecast(void **state)
{
	const struct place *place = *state;
	uint64_t copied;

	if (!dw_codec_can_pack(CODEC_LZ4))
		skip();
	put_parts(place);
	copied = pack_in_small_blocks(place, "path", UINT64_MAX) -
		 pack_in_small_blocks(place, "path", 64 << 10);
	assert_in_range(copied, 100000, 3 * SOURCES * PART_BYTES);
	pack_in_small_blocks(place, "auto", 64 << 10);
	assert_in_range(forecast_copies(), copied * 2 / 3, copied * 3 / 2);
	/* A reader caches all of them in any case. */
	pack_in_small_blocks(place, "auto", 64 << 20);
	assert_true(forecast_copies() == 0);
}

/* A directory is in the blocks of the contents that it shares with others anyway. */
static void blocks_of_shared_contents_are_allowed(void **state)
{
	const struct place *place = *state;
	uint64_t found;

	if (!dw_codec_can_pack(CODEC_LZ4))
		skip();
	put_shared(place);
	found = pack_in_small_blocks(place, "path", UINT64_MAX);
	assert_in_range(found, SHARED_FILES / 2 * SHARED_BYTES * 9 / 10, UINT32_MAX);
	assert_int_equal(pack_in_small_blocks(place, "path", 64 << 10), found);
	pack_in_small_blocks(place, "auto", 64 << 10);
	assert_true(forecast_copies() < SHARED_BYTES);
}

/* The score of the order by path, its bytes that are new, and its segments. */
static void read_score(double *score, double *fresh, double *segments)
{
	const char *at = NULL, *next = all_messages();

	while ((next = strstr(next, "order path: score")))
		at = next++;
	assert_non_null(at);
	assert_int_equal(
		sscanf(at, "order path: score %lf KiB, %*f times the blocks; %lf KiB",
		       score, fresh),
		2);
	at = strstr(at, "elsewhere in ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "elsewhere in %lf segments", segments), 1);
}

/* lz4 finds nothing where a segment interrupts its matches; with others, its chunk counts. */
static void segments_cost_more_with_lz4(void **state)
{
	const struct place *place = *state;
	double score, fresh, segments;

	if (!dw_codec_can_pack(CODEC_LZ4) || !dw_codec_can_pack(CODEC_ZSTD))
		skip();
	put_shared(place);
	pack_by(place, "lz4", "auto", UINT64_MAX);
	read_score(&score, &fresh, &segments);
	assert_in_range(segments, SHARED_FILES / 3, SHARED_FILES);
	assert_true(score * 1024 > fresh * 1024 + 28 * segments);
	score -= 0.02 * SHARED_FILES / 2 * SHARED_BYTES / 1024;
	assert_true(score * 1024 > fresh * 1024 + 22 * segments);
	pack_by(place, "zstd:level=3", "auto", UINT64_MAX);
	read_score(&score, &fresh, &segments);
	assert_in_range(segments, SHARED_FILES / 3, SHARED_FILES);
	score -= 0.02 * SHARED_FILES / 2 * SHARED_BYTES / 1024;
	assert_true(score * 1024 < fresh * 1024 + 22 * segments);
	assert_true(score * 1024 > fresh * 1024 + 8 * segments);
}

/* More blocks than fit into memory if holes were in blocks. */
static void holes_are_not_stored(void **state)
{
	const struct place *place = *state;
	double most = 1.1 * SOURCES * SOURCE_BYTES;

	if (!dw_codec_can_pack(CODEC_LZ4))
		skip();
	put_parts(place);
	put_text(place, "z/hole", "");
	if (truncate(in(place, "z/hole"), (off_t)1 << 42) < 0)
		skip();
	pack_in_small_blocks(place, "auto", 64 << 10);
	assert_true(forecast_bytes(" times the blocks; ") < most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spread_counts_where_blocks_are_read_again),
		cmocka_unit_test_setup_teardown(spread_is_seen_in_large_blocks,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(copies_are_forecast, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(segments_cost_more_with_lz4, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(holes_are_not_stored, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(blocks_of_shared_contents_are_allowed,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
