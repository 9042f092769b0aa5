/* SPDX-License-Identifier: MIT */
/*
 * order/auto: by path, with what is alike brought together as far as that pays.
 */
#include <string.h>

#include "base/context.h"
#include "build/order/auction.h"

#define MAX_CANDIDATES 5

struct candidates {
	struct candidate list[MAX_CANDIDATES];
	size_t count;
};

static void free_candidates(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->count; i++)
		free(candidates->list[i].numbers);
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

/* From the one that reads best on. The first is by path, and stays in numbers. */
static int add_all(const struct order_input *input, struct candidates *candidates,
		   uint32_t *numbers, size_t count, dwarfs_error **err)
{
	auto_free uint32_t *ranks = NULL;
	auto_free uint32_t *copy = dw_calloc(count, sizeof(*copy));
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0 ||
	    (ret = add(candidates, "path", numbers, count, err)) < 0)
		return ret;
	for (unsigned band = 4; band >= 2; band -= 2) {
		memcpy(copy, numbers, count * sizeof(*copy));
		if ((ret = dw_order_resemble(input, band, input->block_bytes, copy, count,
					     err)) < 0 ||
		    (ret = add(candidates,
			       band == 4 ? "path, much alike together"
					 : "path, alike together",
			       copy, count, err)) < 0)
			return ret;
	}
	memcpy(copy, numbers, count * sizeof(*copy));
	if ((ret = dw_order_sibling_ranks(input, &ranks, err)) < 0 ||
	    (ret = dw_order_by_rank(input, ranks, copy, count, err)) < 0 ||
	    (ret = add(candidates, "siblings", copy, count, err)) < 0)
		return ret;
	memcpy(copy, numbers, count * sizeof(*copy));
	if ((ret = dw_order_revpath.sort(input, copy, count, err)) < 0)
		return ret;
	return add(candidates, "revpath", copy, count, err);
}

static int sort(const struct order_input *input, uint32_t *numbers, size_t count,
		dwarfs_error **err)
{
	__attribute__((cleanup(free_candidates))) struct candidates candidates = { 0 };
	uint64_t bytes = 0;
	size_t winner;
	int ret;

	for (size_t i = 0; i < count; i++)
		bytes += input->contents->fragments[numbers[i]].size;
	/* In one block everything is close. */
	if (bytes <= input->block_bytes || count < 3)
		return dw_order_path.sort(input, numbers, count, err);
	if ((ret = add_all(input, &candidates, numbers, count, err)) < 0)
		return ret;
	if (candidates.count < 2)
		return 0;
	if ((ret = dw_auction(input, candidates.list, candidates.count, count, &winner,
			      err)) < 0)
		return ret;
	dw_log(input->run->context, DWARFS_LOG_VERBOSE, "order: %s",
	       candidates.list[winner].name);
	memcpy(numbers, candidates.list[winner].numbers, count * sizeof(*numbers));
	return 0;
}

const struct order_ops dw_order_auto = {
	.name = "auto",
	.fingerprint = FINGERPRINT_MINHASH,
	.sort = sort,
};
