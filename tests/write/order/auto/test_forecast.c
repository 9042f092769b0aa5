/* SPDX-License-Identifier: MIT */
/*
 * order/forecast: where the bytes of an order recur.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/order/auto/forecast.h"

#define FILES	   4
#define FILE_BYTES 1024.0

/* Files of 1024 bytes and two shingles each; a number represents the bytes of a shingle,
 * for all its lengths. */
struct fixture {
	struct fragment fragments[FILES];
	struct contents contents;
	struct order_input input;
	struct shingle shingles[2 * FILES];
	struct sketch_piece pieces[FILES];
	struct sketch sketch;
	struct match_minima minima;
};

static void set_up(struct fixture *fixture, const uint32_t numbers[2 * FILES])
{
	*fixture = (struct fixture){ 0 };
	fixture->contents.fragments = fixture->fragments;
	fixture->input = (struct order_input){
		.contents = &fixture->contents,
		.block_bytes = 1 << 20,
		.reach_bytes = 1 << 20,
		.finds_segments = true,
	};
	fixture->sketch.shingles = fixture->shingles;
	fixture->sketch.pieces = fixture->pieces;
	for (uint32_t i = 0; i < FILES; i++) {
		fixture->fragments[i].size = (uint64_t)FILE_BYTES;
		fixture->pieces[i] =
			(struct sketch_piece){ 2 * i, 2, (uint64_t)FILE_BYTES,
					       (uint64_t)FILE_BYTES };
		fixture->shingles[2 * i + 1].at = (uint32_t)FILE_BYTES / 2;
	}
	for (uint32_t i = 0; i < 2 * FILES; i++)
		for (size_t j = 0; j < SHINGLE_LENGTHS; j++) {
			fixture->shingles[i].ids[j] = numbers[i];
			fixture->sketch.id_counts[j] = 2 * FILES;
		}
}

static struct forecast forecast(const struct fixture *fixture, const uint32_t *order)
{
	static const uint32_t as_they_are[FILES] = { 0, 1, 2, 3 };
	struct forecast result;

	assert_int_equal(dw_forecast(&fixture->input, &fixture->sketch, &fixture->minima,
				     order ? order : as_they_are, FILES, &result, NULL),
			 0);
	assert_true(dw_forecast_kept(&result) + result.segments == FILES * FILE_BYTES);
	return result;
}

static void long_runs_are_segments_wherever_they_are(void **state)
{
	struct fixture fixture;
	struct forecast result;

	(void)state;
	set_up(&fixture, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	fixture.input.block_bytes = fixture.input.reach_bytes = 512;
	result = forecast(&fixture, NULL);
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.fresh == 3 * FILE_BYTES);
	assert_true(dw_forecast_kept(&result) == 3 * FILE_BYTES);
	fixture.input.finds_segments = false; /* and outside of the window of the codec */
	result = forecast(&fixture, NULL);
	assert_true(result.fresh == 4 * FILE_BYTES);
}

static void a_short_run_is_stored(void **state)
{
	struct fixture fixture;
	struct forecast result;

	(void)state;
	/* The last file is like the first one, the third one like half of it. */
	set_up(&fixture, (const uint32_t[]){ 0, 1, 2, 3, 0, 4, 0, 1 });
	fixture.input.block_bytes = 512;
	fixture.input.reach_bytes = 0;
	result = forecast(&fixture, NULL);
	assert_true(result.segments == 1.5 * FILE_BYTES);
	assert_true(result.segment_count == 2);
	fixture.minima.far = 600;
	/* Of the two places of its first half, the older one continues. */
	result = forecast(&fixture, NULL);
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.segment_count == 1);
	result = forecast(&fixture, (const uint32_t[]){ 0, 1, 3, 2 });
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.segment_count == 1);
	fixture.minima.far = 1025;
	assert_true(forecast(&fixture, (const uint32_t[]){ 0, 1, 3, 2 }).segments == 0);
}

static void the_oldest_place_is_kept(void **state)
{
	struct fixture fixture;
	struct forecast result;

	(void)state;
	/* The second file has four times half of the first one, the last one is equal to it. */
	set_up(&fixture, (const uint32_t[]){ 0, 1, 0, 0, 0, 0, 0, 1 });
	fixture.pieces[1].count = 4;
	fixture.pieces[2].count = 0;
	for (uint32_t i = 0; i < 4; i++)
		fixture.shingles[2 + i].at = i * (uint32_t)FILE_BYTES / 4;
	fixture.minima.far = fixture.minima.near = 600;
	result = forecast(&fixture, NULL);
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.segment_count == 1);
	fixture.shingles[1].ids[SHINGLE_LONG] =
		DW_NONE; /* without the rest of the first one */
	assert_true(forecast(&fixture, NULL).segments == 0);
}

static void runs_end_where_distances_differ(void **state)
{
	struct fixture fixture;
	struct forecast result;

	(void)state;
	set_up(&fixture, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	fixture.shingles[7].at = 300;
	result = forecast(&fixture, NULL);
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.segment_count == 2);
	fixture.shingles[7].at = 500; /* rounded */
	assert_true(forecast(&fixture, NULL).segment_count == 1);
}

/* In its block the codec finds the match, too, and a segment must be longer. */
static void within_reach_runs_must_be_longer(void **state)
{
	struct fixture fixture;
	struct forecast result;

	(void)state;
	set_up(&fixture, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	fixture.minima.near = 2000;
	result = forecast(&fixture, NULL);
	assert_true(result.segments == 0);
	assert_true(result.near == FILE_BYTES);
	fixture.input.reach_bytes = 2 * (uint64_t)FILE_BYTES;
	assert_true(forecast(&fixture, NULL).segments == FILE_BYTES);
}

/* The bytes before the first shingle, and those that were not read, count as well. */
static void all_bytes_count(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	for (size_t i = 0; i < FILES; i++) {
		fixture.shingles[2 * i].at = 100;
		fixture.shingles[2 * i + 1].at = 200;
		fixture.pieces[i].read_bytes = 256;
	}
	assert_true(forecast(&fixture, NULL).segments == FILE_BYTES);
	assert_true(forecast(&fixture, NULL).segment_count == 1);
}

/* Common shingles that do not form long runs. */
static void forget_long(struct fixture *fixture)
{
	for (size_t i = 0; i < 2 * FILES; i++)
		fixture->shingles[i].ids[SHINGLE_LONG] = DW_NONE;
}

static void the_codec_finds_what_is_within_reach(void **state)
{
	struct fixture fixture;
	struct forecast result;

	(void)state;
	set_up(&fixture, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	forget_long(&fixture);
	assert_true(forecast(&fixture, NULL).medium == FILE_BYTES);
	fixture.input.reach_bytes = 2 * (uint64_t)FILE_BYTES; /* they are 3 files apart */
	assert_true(forecast(&fixture, NULL).medium == 0);
	/* Side by side it does. */
	result = forecast(&fixture, (const uint32_t[]){ 1, 0, 3, 2 });
	assert_true(result.medium == FILE_BYTES);
	/* Unless a block ends between them. */
	fixture.input.block_bytes = 2 * (uint64_t)FILE_BYTES;
	assert_true(forecast(&fixture, (const uint32_t[]){ 1, 0, 3, 2 }).medium == 0);
	assert_true(forecast(&fixture, (const uint32_t[]){ 0, 3, 1, 2 }).medium ==
		    FILE_BYTES);
}

static void short_runs_count_for_less(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	forget_long(&fixture);
	for (size_t i = 0; i < 2 * FILES; i++)
		fixture.shingles[i].ids[SHINGLE_MEDIUM] = DW_NONE;
	assert_true(forecast(&fixture, NULL).brief == FILE_BYTES);
}

static void files_without_shingles_are_new(void **state)
{
	struct fixture fixture;

	(void)state;
	set_up(&fixture, (const uint32_t[]){ 0, 1, 0, 1, 0, 1, 0, 1 });
	fixture.pieces[1].count = 0;
	assert_true(forecast(&fixture, NULL).fresh == 2 * FILE_BYTES);
}

/* More than 32 bits of the smallest unit can count. */
static void places_may_be_far_away(void **state)
{
	static const uint32_t order[] = { 0, 1, 2 };
	struct fixture fixture;
	struct forecast result;

	(void)state;
	set_up(&fixture, (const uint32_t[]){ 0, 0, 1, 2, 1, 2, 0, 0 });
	forget_long(&fixture);
	fixture.pieces[0].bytes = UINT64_C(200) << 30;
	fixture.pieces[0].count = 0;
	assert_int_equal(dw_forecast(&fixture.input, &fixture.sketch, &fixture.minima,
				     order, 3, &result, NULL),
			 0);
	assert_true(result.medium == FILE_BYTES);
	assert_true(result.fresh == (double)(UINT64_C(200) << 30) + FILE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_runs_are_segments_wherever_they_are),
		cmocka_unit_test(a_short_run_is_stored),
		cmocka_unit_test(the_oldest_place_is_kept),
		cmocka_unit_test(runs_end_where_distances_differ),
		cmocka_unit_test(within_reach_runs_must_be_longer),
		cmocka_unit_test(all_bytes_count),
		cmocka_unit_test(the_codec_finds_what_is_within_reach),
		cmocka_unit_test(short_runs_count_for_less),
		cmocka_unit_test(files_without_shingles_are_new),
		cmocka_unit_test(places_may_be_far_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
