/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/stored_shingles: what a codec finds again, and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sketched_files.h"
#include "write/order/auto/forecast/stored_shingles.h"

static void the_codec_finds_what_is_within_reach(void **state)
{
	struct sketched_files files;
	struct forecast result;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	forget_long(&files);
	assert_true(forecast(&files, NULL).medium == FILE_BYTES);
	files.input.reach_bytes = 2 * (uint64_t)FILE_BYTES; /* they are 3 files apart */
	assert_true(forecast(&files, NULL).medium == 0);
	/* Side by side it does. */
	result = forecast(&files, (const uint32_t[]){ 1, 0, 3, 2 });
	assert_true(result.medium == FILE_BYTES);
	/* Unless a block ends between them. */
	files.input.block_bytes = 2 * (uint64_t)FILE_BYTES;
	assert_true(forecast(&files, (const uint32_t[]){ 1, 0, 3, 2 }).medium == 0);
	assert_true(forecast(&files, (const uint32_t[]){ 0, 3, 1, 2 }).medium ==
		    FILE_BYTES);
}

static void short_runs_count_for_less(void **state)
{
	struct sketched_files files;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	forget_long(&files);
	for (size_t i = 0; i < 2 * FILES; i++)
		files.shingles[i].ids[SHINGLE_MEDIUM] = DW_NONE;
	assert_true(forecast(&files, NULL).brief == FILE_BYTES);
}

/* More than 32 bits of the smallest unit can count. */
static void places_may_be_far_away(void **state)
{
	static const uint32_t order[] = { 0, 1, 2 };
	struct sketched_files files;
	struct forecast result;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 0, 1, 2, 1, 2, 0, 0 });
	forget_long(&files);
	files.pieces[0].bytes = UINT64_C(200) << 30;
	files.pieces[0].count = 0;
	assert_int_equal(dw_forecast(&files.input, &files.sketch, &files.minima, order, 3,
				     &result, NULL),
			 0);
	assert_true(result.medium == FILE_BYTES);
	assert_true(result.fresh == (double)(UINT64_C(200) << 30) + FILE_BYTES);
}

struct stored_case {
	struct sketched_files files;
	struct stored_shingles stored;
	struct forecast result;
	const struct shingle *shingle;
};

static void set_up(struct stored_case *place)
{
	*place = (struct stored_case){ .shingle = &place->files.shingles[0] };
	sketch_files(&place->files, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 6, 7 });
	assert_int_equal(dw_stored_shingles_init(&place->stored, &place->files.input,
						 &place->files.sketch, 4096,
						 &place->result, NULL),
			 0);
}

static void store(struct stored_case *place, double bytes)
{
	dw_stored_add(&place->stored, place->shingle, (struct stretch){ .bytes = bytes },
		      false);
}

static bool is_at(const struct stored_case *place, double at)
{
	return dw_stored_is_at(&place->stored, place->shingle, at);
}

/* Places are kept in units of 32 bytes, so distances are only about right. */
static void places_are_rounded(void **state)
{
	struct stored_case place;

	(void)state;
	set_up(&place);
	assert_false(is_at(&place, 1000));
	dw_stored_add_fresh(&place.stored, 1000);
	store(&place, 50);
	assert_true(place.stored.place == 1050);
	assert_true(place.result.fresh == 1050);
	assert_true(is_at(&place, 1000));
	assert_true(is_at(&place, 1000 - 2 * 32));
	assert_true(is_at(&place, 992 + 2 * 32));
	assert_false(is_at(&place, 1000 - 4 * 32));
	assert_false(is_at(&place, 1000 + 3 * 32));
	dw_stored_shingles_free(&place.stored);
}

/* The newest places first; the oldest is not replaced. */
static void the_oldest_place_stays(void **state)
{
	static const uint32_t places[LONG_PLACES] = { 5, 4, 3, 0 };
	struct stored_case place;

	(void)state;
	set_up(&place);
	for (size_t i = 0; i < 6; i++)
		store(&place, 32);
	assert_memory_equal(dw_stored_places(&place.stored, place.shingle)->list, places,
			    sizeof(places));
	dw_stored_shingles_free(&place.stored);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_codec_finds_what_is_within_reach),
		cmocka_unit_test(short_runs_count_for_less),
		cmocka_unit_test(places_may_be_far_away),
		cmocka_unit_test(places_are_rounded),
		cmocka_unit_test(the_oldest_place_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
