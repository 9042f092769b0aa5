/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/chunk_sums: see chunk_sums.h.
 *
 * Takes the chunks as the view checks them. If one of them is invalid, or the sum of
 * their sizes overflows, there are no sums.
 */
#include "read/metadata/chunk_sums.h"

#define STEP 64 /* chunks */

static int make_sums(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct view *view = owner;
	auto_free uint64_t *sums =
		dw_calloc((size_t)(view->chunks.count / STEP) + 1, sizeof(*sums));
	uint64_t sum = 0;

	if (!sums)
		return dw_fail_nomem(err);
	for (uint64_t i = 0; i < view->chunks.count; i++) {
		struct file_chunk chunk;
		int ret;

		if (i % STEP == 0)
			sums[i / STEP] = sum;
		if ((ret = dw_view_chunk(view, i, &chunk, err)) < 0)
			return ret;
		if (!dw_add(sum, chunk.bytes, &sum))
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: chunks have too many bytes");
	}
	if (view->chunks.count % STEP == 0)
		sums[view->chunks.count / STEP] = sum;
	*items_out = (uint32_t *)dw_steal(sums);
	return 0;
}

static const uint64_t *get_sums(const struct view *view)
{
	if (dw_lazy_need(&view->sums, make_sums, view, NULL) < 0)
		return NULL;
	return (const uint64_t *)dw_lazy_items(&view->sums);
}

/* The bytes of all chunks before this one. */
static uint64_t sum_before(const struct view *view, const uint64_t *sums, uint64_t index)
{
	uint64_t sum = sums[index / STEP];

	for (uint64_t i = index / STEP * STEP; i < index; i++) {
		struct file_chunk chunk;

		/* It was valid when the sums were made. */
		if (dw_view_chunk(view, i, &chunk, NULL) == 0)
			sum += chunk.bytes;
	}
	return sum;
}

bool dw_sums_seek(const struct view *view, struct chunk_range range, uint64_t offset,
		  uint64_t *index_out, uint64_t *at_out)
{
	const uint64_t *sums = get_sums(view);
	uint64_t start, target, low = range.first / STEP, high = range.end / STEP;

	if (!sums)
		return false;
	start = sum_before(view, sums, range.first);
	if (!dw_add(start, offset, &target))
		target = UINT64_MAX;
	/* The last one at or before the target; the first may be before the file. */
	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;

		if (sums[middle] <= target)
			low = middle;
		else
			high = middle - 1;
	}
	*index_out = range.first;
	*at_out = 0;
	if (low * STEP > range.first) {
		*index_out = low * STEP;
		*at_out = sums[low] - start;
	}
	return true;
}

bool dw_sums_between(const struct view *view, struct chunk_range range,
		     uint64_t *bytes_out)
{
	const uint64_t *sums = get_sums(view);

	if (!sums)
		return false;
	*bytes_out =
		sum_before(view, sums, range.end) - sum_before(view, sums, range.first);
	return true;
}
