/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/shingle_run: the longest run of shingles of a piece that is stored
 * before.
 *
 * Takes each known place of the first shingle, and follows the piece as long as the next shingle
 * is stored at the same distance. Only reads; the caller stores the stretches or refers to them.
 */
#include "write/order/auto/forecast/shingle_run.h"

/* A segment of this size is not compared with those at other places. */
#define LONG_ENOUGH 4096

struct piece_shingles dw_piece_shingles(const struct sketch *sketch,
					const struct sketch_piece *piece)
{
	return (struct piece_shingles){
		.list = sketch->shingles + piece->first,
		.count = piece->count,
		.read_bytes = (uint32_t)piece->read_bytes,
		.scale = piece->read_bytes
				 ? (double)piece->bytes / (double)piece->read_bytes
				 : 0,
	};
}

struct stretch dw_stretch_at(const struct piece_shingles *piece, uint32_t at)
{
	const struct shingle *shingle = &piece->list[at];
	uint32_t end = at + 1 == piece->count ? piece->read_bytes : shingle[1].at;

	return (struct stretch){ .lead = at == 0 ? piece->scale * shingle->at : 0,
				 .bytes = piece->scale * (uint32_t)(end - shingle->at) };
}

static struct shingle_run run_at(const struct stored_shingles *stored,
				 const struct piece_shingles *piece, uint32_t at,
				 uint32_t unit)
{
	const struct shingle *shingle = &piece->list[at];
	struct shingle_run run = {
		.place = (double)unit * stored->unit_bytes,
		.near = dw_stored_is_near(stored, unit),
	};
	double end = run.place;

	do {
		struct stretch stretch = dw_stretch_at(piece, at + run.count);

		run.count++;
		run.bytes += stretch.lead + stretch.bytes;
		end += stretch.bytes;
	} while (at + run.count < piece->count &&
		 dw_stored_is_at(stored, shingle + run.count, end));
	return run;
}

struct shingle_run dw_find_run(const struct stored_shingles *stored,
			       const struct match_minima *minima,
			       const struct piece_shingles *piece, uint32_t at)
{
	const struct long_places *places = dw_stored_places(stored, &piece->list[at]);
	struct shingle_run best = { 0 };

	if (places && !minima)
		best.near = dw_stored_is_near(stored, places->list[0]);
	if (!places || !minima)
		return best;
	for (size_t i = 0; i < stored->place_count && places->list[i] != NOWHERE; i++) {
		struct shingle_run run = run_at(stored, piece, at, places->list[i]);
		uint64_t least = run.near ? minima->near : minima->far;

		run.refers = run.bytes >= (double)least;
		if (i == 0 || (run.refers && (!best.refers || run.bytes > best.bytes)))
			best = run;
		if (best.refers && best.bytes >= LONG_ENOUGH)
			break;
	}
	return best;
}
