/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/stored_shingles: the shingles that are in the blocks so far, and
 * where.
 *
 * Of equal bytes in several places the segmenter takes the longest match, so the forecast for a
 * codec such as lz4 knows several places, too. With the newest one alone the score of icons by
 * nilsimsa at level 3 was 0.1 % lower than that of the order revpath, which is 1.2 % smaller; with
 * four it is 1.5 % higher. With all six places that the segmenter knows, scores are 0.4 % lower at
 * most, in all orders. For zstd 9 the newest place decides: with four, a compiler was 4.3 % larger,
 * and other sets as before.
 */
#include <string.h>

#include "codec/encode/encode.h"
#include "write/order/auto/forecast/stored_shingles.h"

/* Places of up to 128 GiB fit into 32 bits; units are larger where there is more. */
#define UNIT_BYTES 32

/* What distances between places may differ by, as these are rounded. */
#define ROUNDING_UNITS 2

static double unit_bytes_for(uint64_t bytes)
{
	double unit = UNIT_BYTES;

	while ((double)bytes / unit >= NOWHERE)
		unit *= 2;
	return unit;
}

/* The codec, too, finds bytes in several places, as far as it reaches. */
static size_t place_count(const struct order_input *input)
{
	bool by_codec =
		input->settings && dw_codec_finds_matches(&input->settings->codec);

	return by_codec ? 1 : LONG_PLACES;
}

int dw_stored_shingles_init(struct stored_shingles *stored,
			    const struct order_input *input, const struct sketch *sketch,
			    uint64_t bytes, struct forecast *forecast, dwarfs_error **err)
{
	size_t count = sketch->id_counts[SHINGLE_LONG];

	*stored = (struct stored_shingles){
		.place_count = place_count(input),
		.unit_bytes = unit_bytes_for(bytes),
		.block_bytes = (double)input->block_bytes,
		.codec_bytes = (double)input->reach_bytes,
		.forecast = forecast,
	};
	if (!(stored->places = dw_calloc(count, sizeof(*stored->places))))
		return dw_fail_nomem(err);
	memset(stored->places, 0xff, count * sizeof(*stored->places));
	for (size_t i = 0; i < SHINGLE_LONG; i++) {
		count = sketch->id_counts[i];
		stored->last[i] = dw_calloc(count, sizeof(*stored->last[i]));
		if (!stored->last[i])
			return dw_fail_nomem(err);
		memset(stored->last[i], 0xff, count * sizeof(*stored->last[i]));
	}
	return 0;
}

void dw_stored_shingles_free(struct stored_shingles *stored)
{
	for (size_t i = 0; i < SHINGLE_LONG; i++)
		dw_free(stored->last[i]);
	dw_free(stored->places);
}

bool dw_stored_is_near(const struct stored_shingles *stored, uint32_t unit)
{
	double place = (double)unit * stored->unit_bytes;

	return unit != NOWHERE && stored->place - place <= stored->codec_bytes &&
	       (uint64_t)(place / stored->block_bytes) ==
		       (uint64_t)(stored->place / stored->block_bytes);
}

bool dw_stored_is_at(const struct stored_shingles *stored, const struct shingle *shingle,
		     double place)
{
	const struct long_places *places = dw_stored_places(stored, shingle);
	double unit = place / stored->unit_bytes;

	for (size_t i = 0;
	     places && i < stored->place_count && places->list[i] != NOWHERE; i++) {
		double distance = places->list[i] - unit;

		if (distance <= ROUNDING_UNITS && distance >= -ROUNDING_UNITS)
			return true;
	}
	return false;
}

/* A long shingle is stored here, too. */
static void add_place(const struct stored_shingles *stored, struct long_places *places)
{
	uint32_t *list = places->list;
	uint32_t oldest = list[LONG_PLACES - 1];

	memmove(list + 1, list, (LONG_PLACES - 1) * sizeof(*list));
	if (oldest != NOWHERE)
		list[LONG_PLACES - 1] = oldest;
	list[0] = (uint32_t)(stored->place / stored->unit_bytes);
}

/* Whether the shingle was within reach of the codec; it is from now on. */
static bool find_and_store(struct stored_shingles *stored, const struct shingle *shingle,
			   enum shingle_length length)
{
	uint32_t id = shingle->ids[length];
	bool near;

	if (id == DW_NONE)
		return false;
	near = dw_stored_is_near(stored, stored->last[length][id]);
	stored->last[length][id] = (uint32_t)(stored->place / stored->unit_bytes);
	return near;
}

void dw_stored_add(struct stored_shingles *stored, const struct shingle *shingle,
		   struct stretch stretch, bool in_run)
{
	struct forecast *forecast = stored->forecast;
	uint32_t id = shingle->ids[SHINGLE_LONG];
	bool medium, brief;

	stored->place += stretch.lead;
	if (id != DW_NONE)
		add_place(stored, &stored->places[id]);
	medium = find_and_store(stored, shingle, SHINGLE_MEDIUM);
	brief = find_and_store(stored, shingle, SHINGLE_SHORT);
	*(in_run   ? &forecast->near
	  : medium ? &forecast->medium
	  : brief  ? &forecast->brief
		   : &forecast->fresh) += stretch.lead + stretch.bytes;
	stored->place += stretch.bytes;
}

void dw_stored_add_fresh(struct stored_shingles *stored, double bytes)
{
	stored->forecast->fresh += bytes;
	stored->place += bytes;
}
