/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/forecast: forecast the packed size of the files of a stream in an
 * order, by their sketch.
 *
 *   stored_shingles   the blocks so far, and how the codec finds bytes in them again
 *   shingle_run       what the segmenter finds, and refers to
 *   unit_batch        which of that is stored again, to keep a directory in few blocks
 */
#include "write/order/auto/forecast/shingle_run.h"
#include "write/order/auto/forecast/unit_batch.h"

struct forecast_state {
	const struct sketch *sketch;
	const struct match_minima *minima; /* NULL: the segmenter is not used */
	struct stored_shingles stored;
	struct unit_batch batch;
	struct forecast *forecast;
};

static void free_state(struct forecast_state *state)
{
	dw_unit_batch_free(&state->batch);
	dw_stored_shingles_free(&state->stored);
}

/* Store a run, or refer to it; returns the index of the shingle after it. */
static uint32_t add_run(struct forecast_state *state, const struct piece_shingles *piece,
			uint32_t at)
{
	struct shingle_run run = dw_find_run(&state->stored, state->minima, piece, at);
	uint32_t end = at + (run.count > 0 ? run.count : 1);

	state->forecast->segment_count += run.refers;
	for (; at < end; at++) {
		struct stretch stretch = dw_stretch_at(piece, at);
		const struct shingle *shingle = &piece->list[at];
		double bytes = stretch.lead + stretch.bytes;

		if (run.refers) {
			state->forecast->segments += bytes;
			dw_unit_batch_refer(
				&state->batch, run.place, bytes,
				(uint32_t)(shingle - state->sketch->shingles));
		} else {
			dw_stored_add(&state->stored, shingle, stretch, run.near);
		}
		run.place += stretch.bytes;
	}
	return end;
}

static int add_fragment(struct forecast_state *state, const struct sketch_piece *piece,
			size_t at, dwarfs_error **err)
{
	struct piece_shingles shingles = dw_piece_shingles(state->sketch, piece);
	int ret = dw_unit_batch_turn(&state->batch, at, err);

	if (ret < 0)
		return ret;
	if (piece->count == 0)
		dw_stored_add_fresh(&state->stored, (double)piece->bytes);
	for (uint32_t i = 0; i < piece->count;)
		i = add_run(state, &shingles, i);
	dw_unit_batch_add(&state->batch, at);
	return 0;
}

static uint64_t stored_bytes(const struct sketch *sketch, const uint32_t *numbers,
			     size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += sketch->pieces[numbers[i]].bytes;
	return bytes;
}

int dw_forecast(const struct order_input *input, const struct sketch *sketch,
		const struct match_minima *minima, const uint32_t *numbers, size_t count,
		struct forecast *forecast_out, dwarfs_error **err)
{
	uint64_t bytes = stored_bytes(sketch, numbers, count);
	__attribute__((cleanup(free_state))) struct forecast_state state = {
		.sketch = sketch,
		.minima = input->finds_segments ? minima : NULL,
		.forecast = forecast_out,
	};
	int ret, ended;

	*forecast_out = (struct forecast){ 0 };
	if (count == 0)
		return 0;
	if ((ret = dw_stored_shingles_init(&state.stored, input, sketch, bytes,
					   forecast_out, err)) < 0 ||
	    (ret = dw_unit_batch_init(&state.batch, input, sketch, numbers, bytes,
				      &state.stored, err)) < 0)
		return ret;
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = add_fragment(&state, &sketch->pieces[numbers[i]], i, err);
	ended = dw_unit_batch_end(&state.batch, ret < 0 ? NULL : err);
	return ret < 0 ? ret : ended;
}
