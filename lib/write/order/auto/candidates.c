/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/candidates: choose the order whose packed size is forecast to be the smallest.
 *
 * No order is the best for all inputs: several releases of a program get much smaller
 * when the versions of a file are adjacent, an operating system does not, and the files
 * of one day of logs are read together. So the cost of each candidate is the number of
 * bytes in which segmenter and codec would find no match, estimated from shingles of all
 * data; if the image does not fit into a cache, there is a penalty for the number of
 * blocks over which the files of a directory are spread, unless the codec finds distant
 * repeats: 32 days of logs take 22 % less at level 9 by nilsimsa, where a day is in four
 * blocks.
 *
 * On wheels of six releases, images packed with zstd 9 in the orders path, resemblance by
 * 4 and by 2, siblings by name, revpath, similarity and nilsimsa have 35.9, 35.0, 33.4, 28.0,
 * 28.4, 29.8 and 28.1 MB; the scores are 102.0, 99.0, 96.7, 90.3, 91.2, 92.3 and 90.4 MiB.
 */
#include <string.h>

#include "base/context.h"
#include "codec/encode/encode.h"
#include "write/budget/budget.h"
#include "write/order/auto/candidates.h"
#include "write/order/auto/forecast/forecast.h"
#include "write/segment/density.h"

#define CACHED_BYTES   ((uint64_t)256 << 20)
#define UNIT_BYTES     ((uint64_t)4 << 20)
#define SPREAD_PENALTY 0.02  /* share of the size */
#define PREFERENCE     0.998 /* of the score of a candidate that is preferred */

/* What bytes take when they are packed, in relation to those that are new. Runs in the block of the
 * codec take about as little as segments: with COST_OF_MEDIUM for them, 16 releases of a compiler
 * were not interleaved, and took 7 % more with zstd 9. */
#define COST_OF_BRIEF	0.4
#define COST_OF_MEDIUM	0.1
#define COST_OF_NEAR	0.03
#define COST_OF_SEGMENT 0.02

/* For each segment, whatever its size: its chunk takes two to six bytes of the image, where a new
 * byte takes a quarter to two thirds, and matches end at it. Without it, two releases of a library
 * of charts took 0.6 % more with zstd 9, in 61,000 segments instead of 50,000. */
#define NEW_BYTES_OF_SEGMENT 16

/*
 * With a codec such as lz4, which stores each match in three bytes or more: bytes for each byte
 * found, and for each segment, whose ends interrupt matches. With the other costs an order was
 * chosen at level 3 that is 2.8 % larger for HTML pages of a manual, and one that is 1.4 % larger for
 * icons; with 28 bytes for each segment and matches from 2^6 bytes on, one that is 7 % larger for
 * releases of a program merged at one root.
 */
#define FAST_BYTES_OF_MEDIUM  0.0625
#define FAST_BYTES_OF_SEGMENT 20

/* -- spread ------------------------------------------------------------------------- */

/* What is likely read together: the files of a directory, or of the directory above it
 * that holds as much as a block, or as UNIT_BYTES where blocks are larger than that. */
struct read_units {
	uint32_t *of_entry;
	uint32_t *last_block; /* of each entry that is a unit, + 1 */
};

static void free_units(struct read_units *units)
{
	dw_free(units->of_entry);
	dw_free(units->last_block);
}

static int find_units(const struct order_input *input, const uint32_t *numbers,
		      size_t count, struct read_units *units, dwarfs_error **err)
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
	/* A directory precedes the entries below it. */
	for (size_t i = tree->entry_count; i-- > 1;)
		bytes[tree->entries[i].parent] += bytes[i];
	for (size_t i = 1; i < tree->entry_count; i++)
		units->of_entry[i] = bytes[i] >= least
					     ? (uint32_t)i
					     : units->of_entry[tree->entries[i].parent];
	return 0;
}

/* The first is 1. Sparse files may have more blocks than 32 bits count. */
static uint32_t block_number(const struct order_input *input, double at)
{
	double number = at / (double)input->block_bytes;

	return number < (double)(UINT32_MAX - 1) ? (uint32_t)number + 1 : UINT32_MAX;
}

/* The number of pairs of a unit and a block with bytes of it, if the fraction `kept` of the
 * bytes is stored. */
static uint64_t count_spread(const struct order_input *input, struct read_units *units,
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
		uint32_t first_block = block_number(input, at);
		uint32_t last_block = block_number(input, end);

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

/* -- scores ------------------------------------------------------------------------- */

struct costs {
	double medium;	/* of a byte */
	double segment; /* of each, whatever its size */
};

/* By how small new bytes get: density is that of dw_density(). */
static struct costs costs_of(const struct order_input *input, uint32_t density)
{
	double bytes = (double)DENSITY_UNIT / density; /* that are packed into one */
	double medium = FAST_BYTES_OF_MEDIUM * bytes;

	if (!input->settings || dw_codec_finds_matches(&input->settings->codec))
		return (struct costs){ .medium = COST_OF_MEDIUM,
				       .segment = NEW_BYTES_OF_SEGMENT };
	return (struct costs){ .medium = medium < COST_OF_BRIEF ? medium : COST_OF_BRIEF,
			       .segment = FAST_BYTES_OF_SEGMENT * bytes };
}

static double score_of(const struct forecast *forecast, const struct costs *costs)
{
	return forecast->fresh + COST_OF_BRIEF * forecast->brief +
	       costs->medium * forecast->medium + COST_OF_NEAR * forecast->near +
	       COST_OF_SEGMENT * forecast->segments +
	       costs->segment * forecast->segment_count;
}

/* The same minima as in the segmenter, which are not to be known exactly. */
static int sample_density(const struct order_input *input, const uint32_t *numbers,
			  size_t count, uint32_t *density_out,
			  struct match_minima *minima_out, dwarfs_error **err)
{
	const struct stream_settings *settings = input->settings;
	bool after_kept = input->continues_kept && settings && settings->lookback > 1;
	int ret = dw_density(input->run, input->tree, input->contents, numbers, count,
			     density_out, err);

	*minima_out = (struct match_minima){ 0 };
	if (ret == 0 && settings)
		*minima_out = dw_match_minima(settings, *density_out, 1, after_kept);
	return ret;
}

double dw_spread_penalty(uint64_t reach_bytes, double kept_bytes)
{
	if (reach_bytes >= ORDER_FAR_REACH_BYTES || kept_bytes <= (double)CACHED_BYTES)
		return 0;
	return SPREAD_PENALTY;
}

static void score_candidate(const struct order_input *input, struct read_units *units,
			    struct candidate *candidate, size_t count,
			    const struct forecast *forecast, const struct costs *costs,
			    uint64_t first_spread, double spread_penalty)
{
	double share = dw_forecast_kept(forecast) /
		       (dw_forecast_kept(forecast) + forecast->segments + 1);

	candidate->spread = count_spread(input, units, candidate->numbers, count, share);
	if (first_spread == 0)
		first_spread = candidate->spread;
	candidate->amplification =
		(double)candidate->spread / (double)(first_spread ? first_spread : 1);
	candidate->score = score_of(forecast, costs);
	candidate->kept = dw_forecast_kept(forecast) - forecast->near;
	candidate->new_bytes = forecast->fresh;
	candidate->segments = forecast->segment_count;
	if (candidate->amplification > 1)
		candidate->spread_penalty =
			spread_penalty * (candidate->amplification - 1);
	candidate->score *= 1 + candidate->spread_penalty;
	dw_log(input->run->context, DWARFS_LOG_VERBOSE,
	       "order %s: score %.0f KiB, %.2f times the blocks; %.0f KiB new, %.0f, %.0f and %.0f "
	       "KiB repeated within a block, %.0f KiB elsewhere in %.0f segments, %.0f KiB "
	       "copied",
	       candidate->name, candidate->score / 1024, candidate->amplification,
	       forecast->fresh / 1024, forecast->brief / 1024, forecast->medium / 1024,
	       forecast->near / 1024, forecast->segments / 1024, forecast->segment_count,
	       forecast->copied / 1024);
}

int dw_candidates_score(const struct order_input *input, const struct sketch *sketch,
			struct candidate *candidates, size_t candidate_count,
			size_t count, dwarfs_error **err)
{
	__attribute__((cleanup(free_units))) struct read_units units = { 0 };
	double spread_penalty = 0;
	struct match_minima minima;
	struct costs costs;
	uint32_t density;
	int ret = sample_density(input, candidates[0].numbers, count, &density, &minima,
				 err);

	if (ret < 0 ||
	    (ret = find_units(input, candidates[0].numbers, count, &units, err)) < 0)
		return ret;
	costs = costs_of(input, density);

	for (size_t i = 0; ret == 0 && i < candidate_count; i++) {
		struct forecast forecast;

		if ((ret = dw_forecast(input, sketch, &minima, candidates[i].numbers,
				       count, &forecast, err)) < 0)
			return ret;
		if (i == 0)
			spread_penalty = dw_spread_penalty(input->reach_bytes,
							   dw_forecast_kept(&forecast));
		score_candidate(input, &units, &candidates[i], count, &forecast, &costs,
				i == 0 ? 0 : candidates[0].spread, spread_penalty);
		candidates[i].density = density;
		ret = dw_progress_tick(&input->run->progress, err);
	}
	return ret;
}

static void cleanup_sketch(struct sketch *sketch)
{
	dw_sketch_free(sketch);
}

int dw_candidates_choose(const struct order_input *input, struct candidate *candidates,
			 size_t candidate_count, size_t count, size_t *best_out,
			 dwarfs_error **err)
{
	__attribute__((cleanup(cleanup_sketch))) struct sketch sketch = { 0 };
	size_t best = 0;
	int ret;

	*best_out = 0;
	if (input->run->budget->shingles == 0)
		return 0;
	if ((ret = dw_sketch_make(input, candidates[0].numbers, count,
				  input->run->budget->shingles, &sketch, err)) < 0)
		return ret;
	if (sketch.count == 0)
		return 0;
	if ((ret = dw_candidates_score(input, &sketch, candidates, candidate_count, count,
				       err)) < 0)
		return ret;
	for (size_t i = 1; i < candidate_count; i++)
		if (candidates[i].score < candidates[best].score * PREFERENCE)
			best = i;
	*best_out = best;
	return 0;
}
