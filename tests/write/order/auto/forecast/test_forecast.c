/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast: where the bytes of an order recur.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sketched_files.h"

static void long_runs_are_segments_wherever_they_are(void **state)
{
	struct sketched_files files;
	struct forecast result;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	files.input.block_bytes = files.input.reach_bytes = 512;
	result = forecast(&files, NULL);
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.fresh == 3 * FILE_BYTES);
	assert_true(dw_forecast_kept(&result) == 3 * FILE_BYTES);
	files.input.finds_segments = false; /* and outside of the window of the codec */
	result = forecast(&files, NULL);
	assert_true(result.fresh == 4 * FILE_BYTES);
}

static void a_short_run_is_stored(void **state)
{
	struct sketched_files files;
	struct forecast result;

	(void)state;
	/* The last file is like the first one, the third one like half of it. */
	sketch_files(&files, (const uint32_t[]){ 0, 1, 2, 3, 0, 4, 0, 1 });
	files.input.block_bytes = 512;
	files.input.reach_bytes = 0;
	result = forecast(&files, NULL);
	assert_true(result.segments == 1.5 * FILE_BYTES);
	assert_true(result.segment_count == 2);
	files.minima.far = 600;
	/* Of the two places of its first half, the older one continues. */
	result = forecast(&files, NULL);
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.segment_count == 1);
	result = forecast(&files, (const uint32_t[]){ 0, 1, 3, 2 });
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.segment_count == 1);
	files.minima.far = 1025;
	assert_true(forecast(&files, (const uint32_t[]){ 0, 1, 3, 2 }).segments == 0);
}

/* In its block the codec finds the match, too, and a segment must be longer. */
static void within_reach_runs_must_be_longer(void **state)
{
	struct sketched_files files;
	struct forecast result;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	files.minima.near = 2000;
	result = forecast(&files, NULL);
	assert_true(result.segments == 0);
	assert_true(result.near == FILE_BYTES);
	files.input.reach_bytes = 2 * (uint64_t)FILE_BYTES;
	assert_true(forecast(&files, NULL).segments == FILE_BYTES);
}

/* The bytes before the first shingle, and those that were not read, count as well. */
static void all_bytes_count(void **state)
{
	struct sketched_files files;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	for (size_t i = 0; i < FILES; i++) {
		files.shingles[2 * i].at = 100;
		files.shingles[2 * i + 1].at = 200;
		files.pieces[i].read_bytes = 256;
	}
	assert_true(forecast(&files, NULL).segments == FILE_BYTES);
	assert_true(forecast(&files, NULL).segment_count == 1);
}

static void files_without_shingles_are_new(void **state)
{
	struct sketched_files files;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 1, 0, 1, 0, 1, 0, 1 });
	files.pieces[1].count = 0;
	assert_true(forecast(&files, NULL).fresh == 2 * FILE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_runs_are_segments_wherever_they_are),
		cmocka_unit_test(a_short_run_is_stored),
		cmocka_unit_test(within_reach_runs_must_be_longer),
		cmocka_unit_test(all_bytes_count),
		cmocka_unit_test(files_without_shingles_are_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
