/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/auto: choose among several orders by the forecast of candidates.c, and by
 * packing in trial.c where their forecasts are nearly equal.
 */
#include <string.h>

#include "base/context.h"
#include "codec/encode/encode.h"
#include "write/budget/budget.h"
#include "write/order/auto/candidates.h"
#include "write/order/auto/file_heads.h"
#include "write/order/auto/interleave.h"
#include "write/order/auto/trial_selection.h"
#include "write/order/auto/trial.h"
#include "write/order/unrelated/unrelated.h"

#define MAX_CANDIDATES 9

struct candidate_list {
	struct candidate list[MAX_CANDIDATES];
	size_t count;
};

static void free_candidates(struct candidate_list *candidates)
{
	for (size_t i = 0; i < candidates->count; i++)
		dw_free(candidates->list[i].numbers);
}

/* Add a candidate as a copy, unless there is the same already. */
static int add_candidate(struct candidate_list *candidates, const char *name,
			 enum candidate_kind kind, const uint32_t *numbers, size_t count,
			 dwarfs_error **err)
{
	uint32_t *copy;

	for (size_t i = 0; i < candidates->count; i++)
		if (memcmp(candidates->list[i].numbers, numbers,
			   count * sizeof(*numbers)) == 0)
			return 0;
	if (!(copy = dw_calloc(count, sizeof(*copy))))
		return dw_fail_nomem(err);
	memcpy(copy, numbers, count * sizeof(*copy));
	candidates->list[candidates->count++] =
		(struct candidate){ .name = name, .kind = kind, .numbers = copy };
	return 0;
}

/* By path, with similar files grouped, at most a block of them. */
static int add_resembling(const struct order_input *input,
			  struct candidate_list *candidates, const uint32_t *by_path,
			  uint32_t *copy, size_t count, dwarfs_error **err)
{
	static const struct {
		const char *name;
		unsigned band;
	} kinds[] = {
		{ "path, much similar together", 4 },
		{ "path, similar together", 2 },
	};
	int ret;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		memcpy(copy, by_path, count * sizeof(*copy));
		if ((ret = dw_order_group_similar(input, kinds[i].band,
						  input->block_bytes, copy, count, err)) <
			    0 ||
		    (ret = add_candidate(candidates, kinds[i].name, CANDIDATE_BY_PATH,
					 copy, count, err)) < 0)
			return ret;
	}
	return 0;
}

/* With sibling directories merged that contain the same names, once only if their contents are
 * similar, once always, which stays in copy. */
static int add_siblings(const struct order_input *input,
			struct candidate_list *candidates, const uint32_t *by_path,
			uint32_t *copy, size_t count, dwarfs_error **err)
{
	static const struct {
		const char *name;
		enum candidate_kind kind;
	} kinds[] = {
		{ "siblings", CANDIDATE_BY_SIBLINGS },
		{ "siblings by name", CANDIDATE_BY_SIBLING_NAMES },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		auto_free uint32_t *ranks = NULL;
		int ret;

		memcpy(copy, by_path, count * sizeof(*copy));
		if ((ret = dw_order_sibling_ranks(input, i == 1, &ranks, err)) < 0 ||
		    (ret = dw_order_by_rank(input, ranks, copy, count, err)) < 0 ||
		    (ret = add_candidate(candidates, kinds[i].name, kinds[i].kind, copy,
					 count, err)) < 0)
			return ret;
	}
	return 0;
}

/*
 * With a codec such as lz4, where segments save most of what is repeated: the same from the middle
 * version on. With zstd 9 it is between 0.6 % smaller and 1.1 % larger than the siblings, which no
 * forecast shows.
 */
static int add_middle_first(const struct order_input *input,
			    struct candidate_list *candidates, uint32_t *siblings,
			    size_t count, dwarfs_error **err)
{
	int ret;

	if (!input->settings || dw_codec_finds_matches(&input->settings->codec))
		return 0;
	if ((ret = dw_order_middle_first(input, siblings, count, err)) < 0)
		return ret;
	return add_candidate(candidates, "siblings by name, middle first",
			     CANDIDATE_BY_SIBLING_NAMES, siblings, count, err);
}

/* An order that needs fingerprints of the beginnings of files. */
static int add_by_heads(const struct order_input *input,
			struct candidate_list *candidates, enum candidate_kind kind,
			const uint32_t *by_path, uint32_t *copy, size_t count,
			dwarfs_error **err)
{
	const char *name = kind == CANDIDATE_BY_NILSIMSA ? "nilsimsa" : "similarity";
	struct order_spec spec;
	bool is_sorted;
	int ret;

	if (!input->run->budget->orders_by_heads)
		return 0;
	memcpy(copy, by_path, count * sizeof(*copy));
	if ((ret = dw_order_parse(name, &spec, err)) < 0 ||
	    (ret = dw_order_by_heads(input, &spec, copy, count, &is_sorted, err)) < 0 ||
	    !is_sorted)
		return ret;
	return add_candidate(candidates, name, kind, copy, count, err);
}

static int add_revpath(const struct order_input *input, struct candidate_list *candidates,
		       const uint32_t *by_path, uint32_t *copy, size_t count,
		       dwarfs_error **err)
{
	int ret;

	memcpy(copy, by_path, count * sizeof(*copy));
	if ((ret = dw_order_revpath.sort(input, copy, count, err)) < 0)
		return ret;
	return add_candidate(candidates, "revpath", CANDIDATE_BY_REVPATH, copy, count,
			     err);
}

/* The orders that a user may name. */
static int add_named(const struct order_input *input, struct candidate_list *candidates,
		     const uint32_t *by_path, uint32_t *copy, size_t count,
		     dwarfs_error **err)
{
	int ret;

	if ((ret = add_revpath(input, candidates, by_path, copy, count, err)) < 0 ||
	    (ret = add_by_heads(input, candidates, CANDIDATE_BY_NILSIMSA, by_path, copy,
				count, err)) < 0)
		return ret;
	return add_by_heads(input, candidates, CANDIDATE_BY_SIMILARITY, by_path, copy,
			    count, err);
}

/* From the one that reads best on. The first is by path, and stays in numbers. */
static int add_all(const struct order_input *input, struct candidate_list *candidates,
		   uint32_t *numbers, size_t count, dwarfs_error **err)
{
	auto_free uint32_t *copy = dw_calloc(count, sizeof(*copy));
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0 ||
	    (ret = add_candidate(candidates, "path", CANDIDATE_BY_PATH, numbers, count,
				 err)) < 0 ||
	    (ret = add_resembling(input, candidates, numbers, copy, count, err)) < 0 ||
	    (ret = add_siblings(input, candidates, numbers, copy, count, err)) < 0 ||
	    (ret = add_middle_first(input, candidates, copy, count, err)) < 0)
		return ret;
	return add_named(input, candidates, numbers, copy, count, err);
}

/* Add the orders that help within the reach of a codec; without a slow one, those that need
 * no fingerprints. What follows kept blocks is mostly in these, which a trial does not know, so
 * only two orders are tried: the last of 24 releases takes 2.3 seconds instead of 3.6, and all 24,
 * appended one after the other, 9.2 MB in both cases. The first stays in numbers. */
static int add_within_reach(const struct order_input *input,
			    struct candidate_list *candidates, uint32_t *numbers,
			    size_t count, dwarfs_error **err)
{
	auto_free uint32_t *copy = dw_calloc(count, sizeof(*copy));
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0 ||
	    (ret = add_candidate(candidates, "path", CANDIDATE_BY_PATH, numbers, count,
				 err)) < 0)
		return ret;
	if (input->speed != CODEC_SLOW)
		return add_revpath(input, candidates, numbers, copy, count, err);
	if (input->continues_kept)
		return add_by_heads(input, candidates, CANDIDATE_BY_NILSIMSA, numbers,
				    copy, count, err);
	return add_named(input, candidates, numbers, copy, count, err);
}

static void choose(const struct order_input *input, const struct candidate *chosen,
		   uint32_t *numbers, size_t count)
{
	dw_log(input->run->context, DWARFS_LOG_VERBOSE, "order: %s", chosen->name);
	memcpy(numbers, chosen->numbers, count * sizeof(*numbers));
}

/* Of a stream, at most. */
static size_t max_trials(const struct order_input *input)
{
	const struct order_spec *spec = input->spec;
	size_t most = input->speed == CODEC_SLOW ? TRIAL_MAX_CANDIDATES
						 : TRIAL_MEDIUM_CANDIDATES;

	return spec->has_max_trials && spec->max_trials < most ? spec->max_trials : most;
}

/* With a codec of medium speed, a trial takes up to half of the time of packing. It is worth that
 * within the reach of the codec, where there is no forecast, and for many repeated bytes: of
 * these, orders that are forecast to be equal need very different numbers of segments. */
static bool is_worth_a_medium_trial(const struct order_input *input, double kept_bytes,
				    uint64_t bytes)
{
	if (input->reach_bytes < TRIAL_MEDIUM_REACH_BYTES ||
	    bytes > TRIAL_MEDIUM_MAX_BYTES)
		return false;
	if (bytes <= input->reach_bytes)
		return true;
	return kept_bytes <= (double)TRIAL_SMALL_BYTES && kept_bytes <= (double)bytes / 2;
}

/* With lz4, a trial takes as long as packing. It is worth that where little more than literals and
 * the ends of segments are left, about which the forecast knows least. At level 3, four versions of
 * calendars of all locales, 269 MiB, take 3.9 % less in 1.5 times the processor time, and four of
 * their numbers 14 % less in twice the time; with zstd 1 and 3 the forecast is right. */
static bool is_worth_a_fast_trial(const struct order_input *input, double kept_bytes,
				  uint64_t bytes)
{
	const struct stream_settings *settings = input->settings;

	return settings &&
	       (settings->codec.id == CODEC_LZ4 || settings->codec.id == CODEC_LZ4HC) &&
	       kept_bytes <= (double)TRIAL_SMALL_BYTES &&
	       kept_bytes <= (double)bytes / TRIAL_FAST_KEPT_SHARE;
}

/* Of a stream of `bytes` bytes, of which kept_bytes are expected in blocks. */
static bool is_worth_a_trial(const struct order_input *input, double kept_bytes,
			     uint64_t bytes)
{
	bool is_worth_it = false;

	/* It takes a small part of the time of a slow codec. */
	if (input->speed == CODEC_SLOW)
		is_worth_it = kept_bytes <= (double)dw_trial_max_kept_bytes(input);
	else if (input->speed == CODEC_MEDIUM)
		is_worth_it = is_worth_a_medium_trial(input, kept_bytes, bytes);
	else
		is_worth_it = is_worth_a_fast_trial(input, kept_bytes, bytes);
	return is_worth_it && input->run->budget->tries_orders &&
	       max_trials(input) >= 2 &&
	       (input->speed == CODEC_FAST || dw_codec_can_pack(CODEC_ZSTD));
}

/* A codec with a short window misses matches that one with a long window finds. NULL: that of the
 * stream. */
static const char *trial_codec(const struct order_input *input)
{
	if (input->speed == CODEC_FAST)
		return NULL;
	if (input->speed == CODEC_MEDIUM)
		return TRIAL_CODEC_MEDIUM;
	return input->reach_bytes >= ORDER_FAR_REACH_BYTES ? TRIAL_CODEC_FAR
							   : TRIAL_CODEC;
}

/* Within reach of the codec no repeated bytes are lost in any order. */
static int sort_within_reach(const struct order_input *input, uint32_t *numbers,
			     size_t count, uint64_t bytes, dwarfs_error **err)
{
	__attribute__((
		cleanup(free_candidates))) struct candidate_list candidates = { 0 };
	size_t chosen = 0, tried;
	int ret;

	if (!is_worth_a_trial(input, (double)bytes, bytes))
		return dw_order_path.sort(input, numbers, count, err);
	if ((ret = add_within_reach(input, &candidates, numbers, count, err)) < 0)
		return ret;
	if (candidates.count < 2)
		return 0;
	tried = max_trials(input) < candidates.count ? max_trials(input)
						     : candidates.count;
	if ((ret = dw_trial(input, trial_codec(input), candidates.list, tried, count,
			    &chosen, err)) < 0)
		return ret;
	choose(input, &candidates.list[chosen], numbers, count);
	return 0;
}

/* Forecasts are some percent wrong: where they are close to each other, packing decides. */
static int try_similar_forecasts(const struct order_input *input,
				 const struct candidate_list *candidates, size_t count,
				 uint64_t bytes, size_t *chosen, dwarfs_error **err)
{
	size_t selected[CANDIDATE_KINDS], best = 0;
	struct candidate tried[TRIAL_MAX_CANDIDATES];
	size_t tried_count;
	int ret;

	if (!is_worth_a_trial(input, candidates->list[*chosen].kept, bytes))
		return 0;
	tried_count = dw_select_for_trial(candidates->list, candidates->count, *chosen,
					  max_trials(input), input->speed == CODEC_FAST,
					  selected);
	if (tried_count < 2)
		return 0;
	for (size_t i = 0; i < tried_count; i++) {
		tried[i] = candidates->list[selected[i]];
		if (selected[i] == *chosen)
			best = i;
	}
	ret = dw_trial(input, trial_codec(input), tried, tried_count, count, &best, err);
	if (ret == 0)
		*chosen = selected[best];
	return ret;
}

/* One order for all of them. */
static int sort_related(const struct order_input *input, uint32_t *numbers, size_t count,
			dwarfs_error **err)
{
	__attribute__((
		cleanup(free_candidates))) struct candidate_list candidates = { 0 };
	uint64_t bytes = dw_fragments_bytes(input->contents, numbers, count);
	size_t chosen;
	int ret;

	if (count < 3)
		return dw_order_path.sort(input, numbers, count, err);
	if (bytes <= input->reach_bytes)
		return sort_within_reach(input, numbers, count, bytes, err);
	if ((ret = add_all(input, &candidates, numbers, count, err)) < 0)
		return ret;
	if (candidates.count < 2)
		return 0;
	if ((ret = dw_candidates_choose(input, candidates.list, candidates.count, count,
					&chosen, err)) < 0 ||
	    (ret = try_similar_forecasts(input, &candidates, count, bytes, &chosen,
					 err)) < 0)
		return ret;
	choose(input, &candidates.list[chosen], numbers, count);
	return 0;
}

static int sort(const struct order_input *input, uint32_t *numbers, size_t count,
		dwarfs_error **err)
{
	auto_free size_t *ends = NULL;
	size_t group_count, first = 0;
	int ret;

	if (count == 0)
		return 0;
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0)
		return ret;
	/* A codec that finds nothing does not care. */
	if (count < 3 || input->reach_bytes == 0 || input->run->options->input.hollow)
		return 0;
	if ((ret = dw_order_unrelated(input, numbers, count, &ends, &group_count, err)) <
	    0)
		return ret;
	for (size_t i = 0; i < group_count; i++) {
		if (group_count > 1)
			dw_log(input->run->context, DWARFS_LOG_VERBOSE,
			       "group %zu of %zu: %zu files or parts of them", i + 1,
			       group_count, ends[i] - first);
		ret = sort_related(input, numbers + first, ends[i] - first, err);
		if (ret < 0)
			return ret;
		first = ends[i];
	}
	return 0;
}

static int parse(const char *options, struct order_spec *spec, dwarfs_error **err)
{
	static const char name[] = "max-trials=";
	const char *digit = options;

	if (!options)
		return 0;
	if (strncmp(options, name, strlen(name)) != 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "invalid inode order mode: auto:%s: unknown option '%s'",
			       options, options);
	digit += strlen(name);
	if (*digit < '0' || *digit > '0' + TRIAL_MAX_CANDIDATES || digit[1])
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "invalid inode order mode: auto:%s: max-trials is not a "
			       "number from 0 to %d",
			       options, TRIAL_MAX_CANDIDATES);
	spec->has_max_trials = true;
	spec->max_trials = (uint32_t)(*digit - '0');
	return 0;
}

/* A codec of medium speed takes much longer than a forecast. */
static int divide(const struct order_input *input, struct fragment_list *list,
		  dwarfs_error **err)
{
	bool is_slow = input->speed == CODEC_SLOW;
	bool can_try = input->run->budget->tries_orders && max_trials(input) >= 2 &&
		       dw_codec_can_pack(CODEC_ZSTD);

	if (input->speed == CODEC_FAST || input->run->options->input.hollow ||
	    input->reach_bytes < (is_slow ? 1 : TRIAL_MEDIUM_REACH_BYTES))
		return 0;
	return dw_interleave(input, can_try ? trial_codec(input) : NULL, list, err);
}

const struct order_ops dw_order_auto = {
	.name = "auto",
	.parse = parse,
	.fingerprint = FINGERPRINT_MINHASH,
	.sort = sort,
	.divide = divide,
};
