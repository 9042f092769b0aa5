/* SPDX-License-Identifier: MIT */
/*
 * write/order/similarity: by fingerprints that begin with the most frequent bytes, so
 * that files of one type are adjacent. Files too short for a fingerprint come first;
 * equal fingerprints are ordered by path.
 */
#include <string.h>

#include "write/order/order.h"

struct printed {
	const struct fingerprint *print;
	uint32_t position, number;
};

static int compare_fingerprints(const void *left, const void *right)
{
	const struct printed *a = left, *b = right;
	int order = memcmp(a->print->bytes, b->print->bytes, FINGERPRINT_BYTES);

	return order ? order : a->position < b->position ? -1 : a->position > b->position;
}

static int sort_similarity(const struct order_input *input, uint32_t *numbers,
			   size_t count, dwarfs_error **err)
{
	const struct contents *contents = input->contents;
	auto_free struct printed *printed = dw_calloc(count, sizeof(*printed));
	int ret;

	if (!printed)
		return dw_fail_nomem(err);
	if ((ret = dw_order_path.sort(input, numbers, count, err)) < 0)
		return ret;
	if (!contents->fingerprints || count < 2)
		return 0;
	for (size_t i = 0; i < count; i++)
		printed[i] = (struct printed){
			.print = &contents->fingerprints[contents->fragments[numbers[i]]
								 .content],
			.position = (uint32_t)i,
			.number = numbers[i],
		};
	qsort(printed, count, sizeof(printed[0]), compare_fingerprints);
	for (size_t i = 0; i < count; i++)
		numbers[i] = printed[i].number;
	return 0;
}

const struct order_ops dw_order_similarity = {
	.name = "similarity",
	.fingerprint = FINGERPRINT_SIMILARITY,
	.sort = sort_similarity,
};
