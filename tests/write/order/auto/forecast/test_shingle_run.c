/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/shingle_run: runs of shingles that are stored before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sketched_files.h"
#include "write/order/auto/forecast/shingle_run.h"

/* The shingles of a piece that begins at place 0, whose first one is stored at two places. */
struct run_case {
	struct sketched_files files;
	struct stored_shingles stored;
	struct forecast forecast;
	struct piece_shingles piece;
};

static void set_up(struct run_case *run)
{
	static const uint32_t numbers[2 * FILES] = { 0, 1, 0, 2, 3, 4, 0, 1 };

	sketch_files(&run->files, numbers);
	run->forecast = (struct forecast){ 0 };
	assert_int_equal(dw_stored_shingles_init(&run->stored, &run->files.input,
						 &run->files.sketch, 4096, &run->forecast,
						 NULL),
			 0);
	for (size_t i = 0; i < 2 * (FILES - 1); i++)
		dw_stored_add(&run->stored, &run->files.shingles[i],
			      (struct stretch){ .bytes = FILE_BYTES / 2 }, false);
	run->piece = dw_piece_shingles(&run->files.sketch, &run->files.pieces[FILES - 1]);
}

/* The older place continues, the newest one does not. */
static void the_longest_run_is_taken(void **state)
{
	struct run_case run;
	struct shingle_run found;

	(void)state;
	set_up(&run);
	found = dw_find_run(&run.stored, &run.files.minima, &run.piece, 0);
	assert_int_equal(found.count, 2);
	assert_true(found.refers && found.place == 0 && found.bytes == FILE_BYTES);
	/* From its second shingle on. */
	found = dw_find_run(&run.stored, &run.files.minima, &run.piece, 1);
	assert_int_equal(found.count, 1);
	assert_true(found.refers && found.place == FILE_BYTES / 2);
	dw_stored_shingles_free(&run.stored);
}

/* Then the newest place counts, as for a codec. */
static void without_a_segment_the_newest_place_counts(void **state)
{
	struct run_case run;
	struct shingle_run found;

	(void)state;
	set_up(&run);
	run.files.minima = (struct match_minima){ 2000, 2000 };
	found = dw_find_run(&run.stored, &run.files.minima, &run.piece, 0);
	assert_int_equal(found.count, 1);
	assert_true(!found.refers && found.near && found.place == FILE_BYTES);
	run.stored.codec_bytes = 2 * FILE_BYTES - 1;
	assert_false(dw_find_run(&run.stored, &run.files.minima, &run.piece, 0).near);
	/* Without a segmenter. */
	assert_false(dw_find_run(&run.stored, NULL, &run.piece, 0).near);
	run.stored.codec_bytes = 2 * FILE_BYTES;
	found = dw_find_run(&run.stored, NULL, &run.piece, 0);
	assert_int_equal(found.count, 0);
	assert_true(found.near && !found.refers);
	dw_stored_shingles_free(&run.stored);
}

/* Of a piece of which a part was read, each byte counts for several. */
static void stretches_cover_the_piece(void **state)
{
	struct sketched_files files;
	struct piece_shingles piece;
	struct stretch first, second;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 6, 7 });
	files.pieces[0].read_bytes = 256;
	files.shingles[0].at = 100;
	files.shingles[1].at = 200;
	piece = dw_piece_shingles(&files.sketch, &files.pieces[0]);
	first = dw_stretch_at(&piece, 0);
	second = dw_stretch_at(&piece, 1);
	assert_true(first.lead == 400 && first.bytes == 400);
	assert_true(second.lead == 0 && second.bytes == FILE_BYTES - 800);
}

static void the_oldest_place_is_kept(void **state)
{
	struct sketched_files files;
	struct forecast result;

	(void)state;
	/* The second file has four times half of the first one, the last one is equal to it. */
	sketch_files(&files, (const uint32_t[]){ 0, 1, 0, 0, 0, 0, 0, 1 });
	files.pieces[1].count = 4;
	files.pieces[2].count = 0;
	for (uint32_t i = 0; i < 4; i++)
		files.shingles[2 + i].at = i * (uint32_t)FILE_BYTES / 4;
	files.minima.far = files.minima.near = 600;
	result = forecast(&files, NULL);
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.segment_count == 1);
	files.shingles[1].ids[SHINGLE_LONG] =
		DW_NONE; /* without the rest of the first one */
	assert_true(forecast(&files, NULL).segments == 0);
}

static void runs_end_where_distances_differ(void **state)
{
	struct sketched_files files;
	struct forecast result;

	(void)state;
	sketch_files(&files, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	files.shingles[7].at = 300;
	result = forecast(&files, NULL);
	assert_true(result.segments == FILE_BYTES);
	assert_true(result.segment_count == 2);
	files.shingles[7].at = 500; /* rounded */
	assert_true(forecast(&files, NULL).segment_count == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_run_is_taken),
		cmocka_unit_test(without_a_segment_the_newest_place_counts),
		cmocka_unit_test(stretches_cover_the_piece),
		cmocka_unit_test(the_oldest_place_is_kept),
		cmocka_unit_test(runs_end_where_distances_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
