/* SPDX-License-Identifier: MIT */
/*
 * order/auction: which of several orders packs best, measured on a sample.
 *
 * No order is the best for all inputs: several releases of a program get much smaller
 * when their versions stand together, an operating system stays as it is, and files of
 * one day are read together. So each candidate is tried with a fast codec; where
 * the image will not fit into a cache, it also counts over how many blocks the files of a
 * directory are spread.
 */
#include <string.h>

#include "base/context.h"
#include "build/budget.h"
#include "build/order/sample.h"
#include "codec/codec.h"

#define SAMPLE_BYTES	  ((uint64_t)64 << 20)
#define QUICK_BYTES	  ((uint64_t)16 << 20) /* when packing is quick, too */
#define QUICK_ZSTD_LEVEL  12
#define CACHED_BYTES	  ((uint64_t)256 << 20)
#define UNIT_BYTES	  ((uint64_t)4 << 20)
#define AMPLIFICATION_FEE 0.02	/* share of the size */
#define WORTH_IT	  0.998 /* of the score of a candidate that is preferred */

static bool packs_quickly(const struct codec_spec *codec)
{
	switch (codec->id) {
	case CODEC_ZSTD:
		return codec->level <= QUICK_ZSTD_LEVEL;
	case CODEC_LZMA:
	case CODEC_BROTLI:
		return false;
	default:
		return true;
	}
}

uint64_t dw_auction_sample_bytes(const struct codec_spec *codec)
{
	return packs_quickly(codec) ? QUICK_BYTES : SAMPLE_BYTES;
}

static uint64_t sample_bytes(const struct order_input *input, uint32_t number)
{
	const struct contents *contents = input->contents;
	uint32_t stream = contents->fragments[number].stream;
	uint32_t category = contents->streams.list[stream].category;
	const struct stream_settings *settings = dw_stream_settings(input->run, category);
	uint64_t limit = input->run->budget->sample_bytes;
	uint64_t bytes = dw_auction_sample_bytes(&settings->codec);

	return limit < bytes ? limit : bytes;
}

/* -- spread ------------------------------------------------------------------------- */

/* What is likely read together: the files of a directory, or of the directory above it
 * that holds as much as a block, or as UNIT_BYTES where blocks are larger than that. */
struct units {
	uint32_t *of_entry;
	uint32_t *last_block; /* of each entry that is a unit, + 1 */
};

static void free_units(struct units *units)
{
	free(units->of_entry);
	free(units->last_block);
}

static int find_units(const struct order_input *input, const uint32_t *numbers,
		      size_t count, struct units *units, dwarfs_error **err)
{
	const struct tree *tree = input->tree;
	uint64_t least =
		input->block_bytes < UNIT_BYTES ? input->block_bytes : UNIT_BYTES;
	auto_free uint64_t *bytes = dw_calloc(tree->entry_count, sizeof(*bytes));

	units->of_entry = dw_calloc(tree->entry_count, sizeof(*units->of_entry));
	units->last_block = dw_calloc(tree->entry_count, sizeof(*units->last_block));
	if (!bytes || !units->of_entry || !units->last_block)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		bytes[tree->entries[dw_order_entry(input, numbers[i])].parent] +=
			input->contents->fragments[numbers[i]].size;
	/* A directory stands before what is below it. */
	for (size_t i = tree->entry_count; i-- > 1;)
		bytes[tree->entries[i].parent] += bytes[i];
	for (size_t i = 1; i < tree->entry_count; i++)
		units->of_entry[i] = bytes[i] >= least
					     ? (uint32_t)i
					     : units->of_entry[tree->entries[i].parent];
	return 0;
}

/* Blocks of which each unit has some bytes, summed up, when so much of them is kept. */
static uint64_t count_spread(const struct order_input *input, struct units *units,
			     const uint32_t *numbers, size_t count, double kept)
{
	const struct tree *tree = input->tree;
	double at = 0;
	uint64_t spread = 0;

	memset(units->last_block, 0, tree->entry_count * sizeof(*units->last_block));
	for (size_t i = 0; i < count; i++) {
		uint32_t parent = tree->entries[dw_order_entry(input, numbers[i])].parent;
		uint32_t *last = &units->last_block[units->of_entry[parent]];
		double end =
			at + kept * (double)input->contents->fragments[numbers[i]].size;
		uint32_t first_block = (uint32_t)(at / (double)input->block_bytes) + 1;
		uint32_t last_block = (uint32_t)(end / (double)input->block_bytes) + 1;

		if (*last < first_block)
			*last = first_block - 1;
		if (*last < last_block) {
			spread += last_block - *last;
			*last = last_block;
		}
		at = end;
	}
	return spread;
}

/* -- the auction -------------------------------------------------------------------- */

static bool parse_codec(struct codec_spec *spec)
{
	static const char *const names[] = { "zstd:level=1", "lz4", "lzma:level=0" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (dw_codec_parse(names[i], spec, NULL) == 0)
			return true;
	return false;
}

static int measure(const struct order_input *input, const struct sample *sample,
		   struct candidate *candidates, size_t candidate_count, size_t count,
		   struct codec *codec, dwarfs_error **err)
{
	__attribute__((cleanup(free_units))) struct units units = { 0 };
	uint64_t bytes = 0, first_spread = 0;
	double fee = 0;
	int ret = find_units(input, candidates[0].numbers, count, &units, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < count; i++)
		bytes += input->contents->fragments[candidates[0].numbers[i]].size;
	for (size_t i = 0; i < candidate_count; i++) {
		struct candidate *candidate = &candidates[i];
		struct sample_result result;
		uint64_t spread;
		double kept;

		ret = dw_sample_measure(sample, candidate->numbers, count, codec, &result,
					err);
		if (ret < 0)
			return ret;
		kept = (double)result.kept / (double)sample->size;
		if (i == 0 && kept * (double)bytes > (double)CACHED_BYTES)
			fee = AMPLIFICATION_FEE;
		spread = count_spread(input, &units, candidate->numbers, count, kept);
		if (i == 0)
			first_spread = spread;
		candidate->packed = result.packed;
		candidate->amplification = (double)spread / (double)first_spread;
		candidate->score = (double)result.packed;
		if (candidate->amplification > 1)
			candidate->score *= 1 + fee * (candidate->amplification - 1);
		dw_log(input->run->context, DWARFS_LOG_VERBOSE,
		       "order %s: %" PRIu64
		       " of %zu sampled bytes, %.2f times the blocks",
		       candidate->name, candidate->packed, sample->size,
		       candidate->amplification);
	}
	return 0;
}

static void cleanup_sample(struct sample *sample)
{
	dw_sample_free(sample);
}

int dw_auction(const struct order_input *input, struct candidate *candidates,
	       size_t candidate_count, size_t count, size_t *winner_out,
	       dwarfs_error **err)
{
	__attribute__((cleanup(cleanup_sample))) struct sample sample = { 0 };
	auto_codec struct codec *codec = NULL;
	struct codec_spec spec;
	size_t winner = 0;
	int ret;

	*winner_out = 0;
	if (input->run->budget->sample_bytes == 0 || !parse_codec(&spec))
		return 0;
	if ((ret = dw_sample_take(input, candidates, candidate_count, count,
				  sample_bytes(input, candidates[0].numbers[0]), &sample,
				  err)) < 0)
		return ret;
	if (sample.size == 0)
		return 0;
	if ((ret = dw_codec_new(&spec, sample.block_bytes, &codec, err)) < 0 ||
	    (ret = measure(input, &sample, candidates, candidate_count, count, codec,
			   err)) < 0)
		return ret;
	for (size_t i = 1; i < candidate_count; i++)
		if (candidates[i].score < candidates[winner].score * WORTH_IT)
			winner = i;
	*winner_out = winner;
	return 0;
}
