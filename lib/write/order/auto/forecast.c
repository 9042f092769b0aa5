/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast: how small the files of a stream get in an order, by their sketch.
 */
#include <string.h>

#include "write/order/auto/forecast.h"

/* Places are counted in such units, so that those of 128 GiB fit into 32 bits; in larger
 * ones where there is more. */
#define UNIT_BYTES 32
#define NOWHERE	   UINT32_MAX

struct forecast_state {
	const struct sketch *sketch;
	uint32_t *last[SHINGLE_LENGTHS]; /* place of each shingle, by its number */
	double place;			 /* bytes kept so far */
	double unit_bytes;
	double block_bytes, codec_bytes;
	bool finds_segments;
	struct forecast *forecast;
};

static void free_state(struct forecast_state *state)
{
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

static void add_shingle(struct forecast_state *state, const struct shingle *shingle,
			double bytes)
{
	struct forecast *forecast = state->forecast;
	uint32_t id = shingle->ids[SHINGLE_LONG];
	bool medium, brief;

	if (state->finds_segments && id != DW_NONE &&
	    state->last[SHINGLE_LONG][id] != NOWHERE) {
		forecast->segments += bytes;
		return;
	}
	if (id != DW_NONE)
		state->last[SHINGLE_LONG][id] = 0;
	medium = find_and_store(state, shingle, SHINGLE_MEDIUM);
	brief = find_and_store(state, shingle, SHINGLE_SHORT);
	*(medium  ? &forecast->medium
	  : brief ? &forecast->brief
		  : &forecast->fresh) += bytes;
	state->place += bytes;
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

static double unit_bytes_for(const struct order_input *input, const uint32_t *numbers,
			     size_t count)
{
	double total = (double)dw_fragments_bytes(input->contents, numbers, count);
	double unit = UNIT_BYTES;

	while (total / unit >= NOWHERE)
		unit *= 2;
	return unit;
}

int dw_forecast(const struct order_input *input, const struct sketch *sketch,
		const uint32_t *numbers, size_t count, struct forecast *forecast_out,
		dwarfs_error **err)
{
	__attribute__((cleanup(free_state))) struct forecast_state state = {
		.sketch = sketch,
		.unit_bytes = unit_bytes_for(input, numbers, count),
		.block_bytes = (double)input->block_bytes,
		.codec_bytes = (double)input->reach_bytes,
		.finds_segments = input->finds_segments,
		.forecast = forecast_out,
	};
	int ret;

	*forecast_out = (struct forecast){ 0 };
	if ((ret = init_state(&state, err)) < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		const struct sketch_piece *piece = &sketch->pieces[numbers[i]];
		double size = (double)input->contents->fragments[numbers[i]].size;

		if (piece->count == 0) {
			forecast_out->fresh += size;
			state.place += size;
		}
		for (uint32_t j = 0; j < piece->count; j++)
			add_shingle(&state, &sketch->shingles[piece->first + j],
				    size / piece->count);
	}
	return 0;
}
