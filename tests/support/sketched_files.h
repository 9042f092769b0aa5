/* SPDX-License-Identifier: MIT */
/*
 * Files of 1024 bytes and two shingles each, as a sketch of a stream. A number represents the
 * bytes of a shingle, for all its lengths.
 */
#ifndef TESTS_SUPPORT_SKETCHED_FILES_H
#define TESTS_SUPPORT_SKETCHED_FILES_H

#include "write/order/auto/forecast/forecast.h"

#define FILES	       4
#define FILE_BYTES     1024.0
#define MORE_SHINGLES  2 /* for cases that give the last file more than two */
#define FILES_SHINGLES (2 * FILES + MORE_SHINGLES)

struct sketched_files {
	struct fragment fragments[FILES];
	struct contents contents;
	struct order_input input;
	struct shingle shingles[FILES_SHINGLES];
	struct sketch_piece pieces[FILES];
	struct sketch sketch;
	struct match_minima minima;
};

static inline void set_shingle(struct sketched_files *files, uint32_t at, uint32_t number)
{
	for (size_t i = 0; i < SHINGLE_LENGTHS; i++)
		files->shingles[at].ids[i] = number;
}

static inline void sketch_files(struct sketched_files *files,
				const uint32_t numbers[2 * FILES])
{
	*files = (struct sketched_files){ 0 };
	files->contents.fragments = files->fragments;
	files->contents.fragment_count = FILES;
	files->input = (struct order_input){
		.contents = &files->contents,
		.block_bytes = 1 << 20,
		.reach_bytes = 1 << 20,
		.finds_segments = true,
	};
	files->sketch.shingles = files->shingles;
	files->sketch.pieces = files->pieces;
	for (uint32_t i = 0; i < FILES; i++) {
		files->fragments[i].size = (uint64_t)FILE_BYTES;
		files->pieces[i] = (struct sketch_piece){ 2 * i, 2, (uint64_t)FILE_BYTES,
							  (uint64_t)FILE_BYTES };
		files->shingles[2 * i + 1].at = (uint32_t)FILE_BYTES / 2;
	}
	for (uint32_t i = 0; i < 2 * FILES; i++)
		set_shingle(files, i, numbers[i]);
	for (size_t i = 0; i < SHINGLE_LENGTHS; i++)
		files->sketch.id_counts[i] = FILES_SHINGLES;
}

/* Common shingles that do not form long runs. */
static inline void forget_long(struct sketched_files *files)
{
	for (size_t i = 0; i < FILES_SHINGLES; i++)
		files->shingles[i].ids[SHINGLE_LONG] = DW_NONE;
}

/* In an order; NULL: as they are. */
static inline struct forecast forecast(const struct sketched_files *files,
				       const uint32_t *order)
{
	static const uint32_t as_they_are[FILES] = { 0, 1, 2, 3 };
	struct forecast result;

	assert_int_equal(dw_forecast(&files->input, &files->sketch, &files->minima,
				     order ? order : as_they_are, FILES, &result, NULL),
			 0);
	assert_true(dw_forecast_kept(&result) + result.segments == FILES * FILE_BYTES);
	return result;
}

#endif
