/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/auto: choose among several orders by the forecast of auction.c, or where that
 * cannot tell them apart by packing in trial.c.
 */
#include <string.h>

#include "base/context.h"
#include "write/budget/budget.h"
#include "write/order/auto/auction.h"
#include "write/order/auto/file_heads.h"
#include "write/order/auto/trial.h"

#define MAX_CANDIDATES 8

struct candidates {
	struct candidate list[MAX_CANDIDATES];
	size_t count;
};

static void free_candidates(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->count; i++)
		dw_free(candidates->list[i].numbers);
}

/* Add a candidate as a copy, unless there is the same already. */
static int add(struct candidates *candidates, const char *name, const uint32_t *numbers,
	       size_t count, dwarfs_error **err)
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
		(struct candidate){ .name = name, .numbers = copy };
	return 0;
}

/* With files that are alike brought together, as far as they fit into a block. */
static int add_resembling(const struct order_input *input, struct candidates *candidates,
			  const uint32_t *by_path, uint32_t *copy, size_t count,
			  dwarfs_error **err)
{
	static const struct {
		const char *name;
		unsigned band;
	} kinds[] = {
		{ "path, much alike together", 4 },
		{ "path, alike together", 2 },
	};
	int ret;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		memcpy(copy, by_path, count * sizeof(*copy));
		if ((ret = dw_order_resemble(input, kinds[i].band, input->block_bytes,
					     copy, count, err)) < 0 ||
		    (ret = add(candidates, kinds[i].name, copy, count, err)) < 0)
			return ret;
	}
	return 0;
}

/* With directories of the same names taken as one: of alike contents, and of any. */
static int add_siblings(const struct order_input *input, struct candidates *candidates,
			const uint32_t *by_path, uint32_t *copy, size_t count,
			dwarfs_error **err)
{
	static const char *const names[] = { "siblings", "siblings by name" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		auto_free uint32_t *ranks = NULL;
		int ret;

		memcpy(copy, by_path, count * sizeof(*copy));
		if ((ret = dw_order_sibling_ranks(input, i == 1, &ranks, err)) < 0 ||
		    (ret = dw_order_by_rank(input, ranks, copy, count, err)) < 0 ||
		    (ret = add(candidates, names[i], copy, count, err)) < 0)
			return ret;
	}
	return 0;
}

/* An order that needs fingerprints of the beginnings of files. */
static int add_by_heads(const struct order_input *input, struct candidates *candidates,
			const char *name, const uint32_t *by_path, uint32_t *copy,
			size_t count, dwarfs_error **err)
{
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
	return add(candidates, name, copy, count, err);
}

/* The orders that a user may name. */
static int add_named(const struct order_input *input, struct candidates *candidates,
		     const uint32_t *by_path, uint32_t *copy, size_t count,
		     dwarfs_error **err)
{
	int ret;

	memcpy(copy, by_path, count * sizeof(*copy));
	if ((ret = dw_order_revpath.sort(input, copy, count, err)) < 0 ||
	    (ret = add(candidates, "revpath", copy, count, err)) < 0 ||
	    (ret = add_by_heads(input, candidates, "similarity", by_path, copy, count,
				err)) < 0)
		return ret;
	return add_by_heads(input, candidates, "nilsimsa", by_path, copy, count, err);
}

/* From the one that reads best on. The first is by path, and stays in numbers. */
static int add_all(const struct order_input *input, struct candidates *candidates,
		   uint32_t *numbers, size_t count, dwarfs_error **err)
{
	auto_free uint32_t *copy = dw_calloc(count, sizeof(*copy));
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0 ||
	    (ret = add(candidates, "path", numbers, count, err)) < 0 ||
	    (ret = add_resembling(input, candidates, numbers, copy, count, err)) < 0 ||
	    (ret = add_siblings(input, candidates, numbers, copy, count, err)) < 0)
		return ret;
	return add_named(input, candidates, numbers, copy, count, err);
}

/* The two orders that differ most within reach of the codec; the first stays in numbers. */
static int add_near(const struct order_input *input, struct candidates *candidates,
		    uint32_t *numbers, size_t count, dwarfs_error **err)
{
	auto_free uint32_t *copy = dw_calloc(count, sizeof(*copy));
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0 ||
	    (ret = add(candidates, "path", numbers, count, err)) < 0)
		return ret;
	return add_by_heads(input, candidates, "nilsimsa", numbers, copy, count, err);
}

static void choose(const struct order_input *input, const struct candidates *candidates,
		   size_t winner, uint32_t *numbers, size_t count)
{
	dw_log(input->run->context, DWARFS_LOG_VERBOSE, "order: %s",
	       candidates->list[winner].name);
	memcpy(numbers, candidates->list[winner].numbers, count * sizeof(*numbers));
}

/* Within reach of the codec no repeated bytes are lost in any order. */
static int sort_near(const struct order_input *input, uint32_t *numbers, size_t count,
		     uint64_t bytes, dwarfs_error **err)
{
	__attribute__((cleanup(free_candidates))) struct candidates candidates = { 0 };
	size_t winner;
	int ret;

	if (bytes > TRIAL_MAX_BYTES || !input->packs_slowly ||
	    !input->run->budget->tries_orders)
		return dw_order_path.sort(input, numbers, count, err);
	if ((ret = add_near(input, &candidates, numbers, count, err)) < 0)
		return ret;
	if (candidates.count < 2)
		return 0;
	if ((ret = dw_trial(input, candidates.list, candidates.count, count, &winner,
			    err)) < 0)
		return ret;
	choose(input, &candidates, winner, numbers, count);
	return 0;
}

static int sort(const struct order_input *input, uint32_t *numbers, size_t count,
		dwarfs_error **err)
{
	__attribute__((cleanup(free_candidates))) struct candidates candidates = { 0 };
	uint64_t bytes = 0;
	size_t winner;
	int ret;

	if (count == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		bytes += input->contents->fragments[numbers[i]].size;
	/* A codec that finds nothing does not care. */
	if (count < 3 || input->reach_bytes == 0 || input->run->options->input.hollow)
		return dw_order_path.sort(input, numbers, count, err);
	if (bytes <= input->reach_bytes)
		return sort_near(input, numbers, count, bytes, err);
	if ((ret = add_all(input, &candidates, numbers, count, err)) < 0)
		return ret;
	if (candidates.count < 2)
		return 0;
	if ((ret = dw_auction(input, candidates.list, candidates.count, count, &winner,
			      err)) < 0)
		return ret;
	choose(input, &candidates, winner, numbers, count);
	return 0;
}

const struct order_ops dw_order_auto = {
	.name = "auto",
	.fingerprint = FINGERPRINT_MINHASH,
	.sort = sort,
};
