/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/trial: which of several orders packs best, found by packing.
 *
 * Where the codec finds every repeated run in any order, an order still decides how far away it
 * is, and how alike the literals of one Huffman table are. The forecast of auction.c counts
 * neither. zstd 9 packs 16 MiB in a thirtieth of the time of zstd 22. One release of Django,
 * by path and by nilsimsa: 3.09 and 3.06 MB with zstd 9; 2.68 and 2.63 MB at level 7.
 */
#include <string.h>

#include "base/context.h"
#include "codec/encode/encode.h"
#include "write/order/auto/read_ahead.h"
#include "write/order/auto/trial.h"

#define TRIAL_CODEC "zstd:level=9"
#define WORTH_IT    0.998 /* of the size of a candidate that is preferred */

struct trial {
	struct reading reading;
	struct codec *codec;
	struct buffer in, out;
};

static void free_trial(struct trial *trial)
{
	dw_reading_free(&trial->reading);
	dw_codec_free(trial->codec);
	dw_buffer_free(&trial->in);
	dw_buffer_free(&trial->out);
}

uint64_t dw_trial_memory(uint64_t bytes)
{
	struct codec_spec spec;
	size_t size = (size_t)(bytes < TRIAL_MAX_BYTES ? bytes : TRIAL_MAX_BYTES);

	if (size == 0 || dw_codec_parse(TRIAL_CODEC, &spec, NULL) < 0)
		return 0;
	return READING_PIECE_BYTES + 2 * (uint64_t)size + dw_codec_memory(&spec, size);
}

/* The bytes of all fragments in an order. Files that cannot be read end early. */
static int read_all(struct trial *trial, const uint32_t *numbers, size_t count,
		    dwarfs_error **err)
{
	struct buffer *in = &trial->in;
	int ret = 0;

	in->size = 0;
	for (size_t i = 0; i < count && ret == 0; i++) {
		size_t size;

		dw_reading_begin(&trial->reading, numbers[i]);
		while ((size = dw_reading_next(&trial->reading)) > 0) {
			memcpy(in->data + in->size, trial->reading.bytes, size);
			in->size += size;
		}
		ret = dw_progress_tick(&trial->reading.input->run->progress, err);
	}
	return ret;
}

/* The size of all fragments, packed in an order. */
static int pack(struct trial *trial, const uint32_t *numbers, size_t count,
		size_t *size_out, dwarfs_error **err)
{
	uint32_t id;
	int ret = read_all(trial, numbers, count, err);

	*size_out = 0;
	if (ret < 0 || trial->in.size == 0)
		return ret;
	trial->out.size = 0;
	if ((ret = dw_codec_pack(trial->codec,
				 (struct span){ trial->in.data, trial->in.size },
				 &trial->out, &id, err)) < 0)
		return ret;
	*size_out = id == CODEC_NONE ? trial->in.size : trial->out.size;
	return 0;
}

/* False if the stream is too large, or the codec is not built in. */
static int begin(struct trial *trial, const struct order_input *input,
		 const uint32_t *numbers, size_t count, bool *begun_out,
		 dwarfs_error **err)
{
	struct codec_spec spec;
	uint64_t total;
	int ret;

	*begun_out = false;
	if ((ret = dw_reading_init(&trial->reading, input, err)) < 0)
		return ret;
	total = dw_reading_total(&trial->reading, numbers, count);
	if (total == 0 || total > TRIAL_MAX_BYTES ||
	    dw_codec_parse(TRIAL_CODEC, &spec, NULL) < 0)
		return 0;
	if ((ret = dw_buffer_reserve(&trial->in, (size_t)total, err)) < 0 ||
	    (ret = dw_buffer_reserve(&trial->out, (size_t)total, err)) < 0 ||
	    (ret = dw_codec_new(&spec, (size_t)total, &trial->codec, err)) < 0)
		return ret;
	*begun_out = true;
	return 0;
}

int dw_trial(const struct order_input *input, const struct candidate *candidates,
	     size_t candidate_count, size_t count, size_t *winner_out, dwarfs_error **err)
{
	__attribute__((cleanup(free_trial))) struct trial trial = { 0 };
	size_t least = 0;
	bool begun;
	int ret = begin(&trial, input, candidates[0].numbers, count, &begun, err);

	*winner_out = 0;
	for (size_t i = 0; ret == 0 && begun && i < candidate_count; i++) {
		size_t size;

		if ((ret = pack(&trial, candidates[i].numbers, count, &size, err)) < 0)
			return ret;
		dw_log(input->run->context, DWARFS_LOG_VERBOSE,
		       "order %s: %zu bytes with " TRIAL_CODEC, candidates[i].name, size);
		if (i == 0 || (double)size < (double)least * WORTH_IT) {
			least = size;
			*winner_out = i;
		}
	}
	return ret;
}
