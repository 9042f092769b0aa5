/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast: how small the files of a stream get in an order, by their sketch.
 *
 * What gatherer.c stores again is part of it: of two releases of kernel modules (777 MiB), 337 MiB
 * become segments by path, where they are 390 MiB apart, and 377 MiB as siblings, side by side.
 */
#include <string.h>

#include "write/order/auto/forecast.h"
#include "write/segment/gatherer.h"
#include "write/segment/locality.h"

/* Places are counted in such units, so that those of 128 GiB fit into 32 bits; in larger
 * ones where there is more. */
#define UNIT_BYTES 32
#define NOWHERE	   UINT32_MAX

/* Fragments of a unit of locality, as in gatherer.c, and their segments. */
struct batch {
	struct locality *locality; /* NULL: nothing is stored again */
	double near_bytes;
	bool is_open;
	uint32_t unit;
	size_t first, end; /* of the fragments in the order */
	double place;	   /* at its begin */
	uint64_t bytes;
	struct chunk *segments;
	uint32_t *ids; /* of their shingles */
	uint8_t *marks;
	size_t count, segment_room, id_room, mark_room;
};

struct forecast_state {
	const struct sketch *sketch;
	uint32_t *last[SHINGLE_LENGTHS]; /* place of each shingle, by its number */
	double place;			 /* bytes kept so far */
	double unit_bytes;
	double block_bytes, codec_bytes;
	bool finds_segments;
	struct batch batch;
	struct forecast *forecast;
};

static void free_state(struct forecast_state *state)
{
	dw_locality_free(state->batch.locality);
	dw_free(state->batch.segments);
	dw_free(state->batch.ids);
	dw_free(state->batch.marks);
	for (size_t i = 0; i < SHINGLE_LENGTHS; i++)
		dw_free(state->last[i]);
}

static bool is_near(const struct forecast_state *state, uint32_t last)
{
	double place = (double)last * state->unit_bytes;

	return last != NOWHERE && state->place - place <= state->codec_bytes &&
	       (uint64_t)(place / state->block_bytes) ==
		       (uint64_t)(state->place / state->block_bytes);
}

/* Whether the shingle was within reach of the codec; it is from now on. */
static bool find_and_store(struct forecast_state *state, const struct shingle *shingle,
			   enum shingle_length length)
{
	uint32_t id = shingle->ids[length];
	bool near;

	if (id == DW_NONE)
		return false;
	near = is_near(state, state->last[length][id]);
	state->last[length][id] = (uint32_t)(state->place / state->unit_bytes);
	return near;
}

static void store_long(struct forecast_state *state, uint32_t id)
{
	state->last[SHINGLE_LONG][id] = (uint32_t)(state->place / state->unit_bytes);
}

static void add_segment(struct forecast_state *state, uint32_t id, double bytes)
{
	struct batch *batch = &state->batch;
	double place = (double)state->last[SHINGLE_LONG][id] * state->unit_bytes;

	state->forecast->segments += bytes;
	if (!batch->is_open)
		return;
	batch->ids[batch->count] = id;
	batch->segments[batch->count++] = (struct chunk){
		.block = (uint32_t)(place / state->block_bytes),
		.size = (uint64_t)bytes,
	};
}

static void add_shingle(struct forecast_state *state, const struct shingle *shingle,
			double bytes)
{
	struct forecast *forecast = state->forecast;
	uint32_t id = shingle->ids[SHINGLE_LONG];
	bool medium, brief;

	if (state->finds_segments && id != DW_NONE &&
	    state->last[SHINGLE_LONG][id] != NOWHERE) {
		add_segment(state, id, bytes);
		return;
	}
	if (id != DW_NONE)
		store_long(state, id);
	medium = find_and_store(state, shingle, SHINGLE_MEDIUM);
	brief = find_and_store(state, shingle, SHINGLE_SHORT);
	*(medium  ? &forecast->medium
	  : brief ? &forecast->brief
		  : &forecast->fresh) += bytes;
	state->place += bytes;
}

/* -- what is stored again -------------------------------------------------------------- */

/* Segments that stay in the unit's blocks when others have been copied there count once. */
static void store_again(struct forecast_state *state)
{
	const struct batch *batch = &state->batch;

	for (size_t i = 0; i < batch->count; i++) {
		uint32_t *last = &state->last[SHINGLE_LONG][batch->ids[i]];
		double bytes = (double)batch->segments[i].size;

		if (!batch->marks[i] || (double)*last * state->unit_bytes >= batch->place)
			continue;
		state->forecast->segments -= bytes;
		state->forecast->copied += bytes;
		store_long(state, batch->ids[i]);
		state->place += bytes;
	}
}

static int end_batch(struct forecast_state *state, const struct order_input *input,
		     const uint32_t *numbers, dwarfs_error **err)
{
	struct batch *batch = &state->batch;
	struct locality_batch judged = {
		.unit = batch->unit,
		.numbers = numbers + batch->first,
		.count = batch->end - batch->first,
		.chunks = batch->segments,
		.chunk_count = batch->count,
		.first_block = (uint32_t)(batch->place / state->block_bytes),
		.last_block = (uint32_t)(state->place / state->block_bytes),
		.has_blocks = state->place > batch->place,
	};
	size_t marked;
	int ret = dw_locality_judge(batch->locality, &judged, batch->marks, &marked, err);

	for (size_t i = batch->first; i < batch->end; i++)
		input->contents->fragments[numbers[i]].chunk_count = 0;
	if (ret == 0 && marked > 0)
		store_again(state);
	batch->is_open = false;
	batch->count = 0;
	return ret;
}

/* Space for the segments of another fragment. */
static int reserve(struct batch *batch, size_t more, dwarfs_error **err)
{
	size_t count = batch->count + more;
	int ret;

	if ((ret = dw_grow(&batch->segments, &batch->segment_room, count, err)) < 0 ||
	    (ret = dw_grow(&batch->ids, &batch->id_room, count, err)) < 0)
		return ret;
	return dw_grow(&batch->marks, &batch->mark_room, count, err);
}

/* Begin, continue or end a batch before a fragment, as dw_gatherer_turn(). */
static int turn(struct forecast_state *state, const struct order_input *input,
		const uint32_t *numbers, size_t at, dwarfs_error **err)
{
	struct batch *batch = &state->batch;
	const struct fragment *fragment = &input->contents->fragments[numbers[at]];
	uint32_t unit = dw_locality_unit(batch->locality, fragment->content);
	int ret;

	if (batch->is_open &&
	    (unit != batch->unit ||
	     (double)batch->bytes >= GATHERER_BATCH_BLOCKS * state->block_bytes) &&
	    (ret = end_batch(state, input, numbers, err)) < 0)
		return ret;
	if (!batch->is_open && state->place >= batch->near_bytes) {
		batch->is_open = true;
		batch->unit = unit;
		batch->first = at;
		batch->place = state->place;
		batch->bytes = 0;
	}
	batch->bytes += fragment->size;
	return batch->is_open
		       ? reserve(batch, state->sketch->pieces[numbers[at]].count, err)
		       : 0;
}

/* As where segment.c has a gatherer: not after kept blocks. */
static int init_batch(struct batch *batch, const struct order_input *input,
		      uint64_t bytes, uint32_t stream, dwarfs_error **err)
{
	const struct build_options *options;
	struct locality_options locality = { .stream = stream };

	if (!input->finds_segments || !input->settings ||
	    input->settings->foreign_blocks == UINT32_MAX)
		return 0;
	options = input->run->options;
	if (options->least_block_bits > 0 || bytes <= options->near_bytes)
		return 0;
	batch->near_bytes = (double)options->near_bytes;
	locality.block_bytes = (size_t)input->block_bytes;
	locality.foreign_blocks = input->settings->foreign_blocks;
	return dw_locality_new(&locality, input->tree, input->contents, &batch->locality,
			       err);
}

static int init_state(struct forecast_state *state, dwarfs_error **err)
{
	for (size_t i = 0; i < SHINGLE_LENGTHS; i++) {
		size_t count = state->sketch->id_counts[i];

		state->last[i] = dw_calloc(count, sizeof(*state->last[i]));
		if (!state->last[i])
			return dw_fail_nomem(err);
		memset(state->last[i], 0xff, count * sizeof(*state->last[i]));
	}
	return 0;
}

static double unit_bytes_for(uint64_t bytes)
{
	double unit = UNIT_BYTES;

	while ((double)bytes / unit >= NOWHERE)
		unit *= 2;
	return unit;
}

static void add_fragment(struct forecast_state *state, struct fragment *fragment,
			 const struct sketch_piece *piece)
{
	double size = (double)fragment->size;
	size_t before = state->batch.count;

	if (piece->count == 0) {
		state->forecast->fresh += size;
		state->place += size;
	}
	for (uint32_t i = 0; i < piece->count; i++)
		add_shingle(state, &state->sketch->shingles[piece->first + i],
			    size / piece->count);
	if (state->batch.is_open)
		fragment->chunk_count = (uint32_t)(state->batch.count - before);
}

int dw_forecast(const struct order_input *input, const struct sketch *sketch,
		const uint32_t *numbers, size_t count, struct forecast *forecast_out,
		dwarfs_error **err)
{
	struct fragment *fragments = input->contents->fragments;
	uint64_t bytes = dw_fragments_bytes(input->contents, numbers, count);
	__attribute__((cleanup(free_state))) struct forecast_state state = {
		.sketch = sketch,
		.unit_bytes = unit_bytes_for(bytes),
		.block_bytes = (double)input->block_bytes,
		.codec_bytes = (double)input->reach_bytes,
		.finds_segments = input->finds_segments,
		.forecast = forecast_out,
	};
	int ret;

	*forecast_out = (struct forecast){ 0 };
	if (count == 0)
		return 0;
	if ((ret = init_state(&state, err)) < 0 ||
	    (ret = init_batch(&state.batch, input, bytes, fragments[numbers[0]].stream,
			      err)) < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		if (state.batch.locality &&
		    (ret = turn(&state, input, numbers, i, err)) < 0)
			return ret;
		add_fragment(&state, &fragments[numbers[i]], &sketch->pieces[numbers[i]]);
		state.batch.end = i + 1;
	}
	return state.batch.is_open ? end_batch(&state, input, numbers, err) : 0;
}
