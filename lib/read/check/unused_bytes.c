/* SPDX-License-Identifier: MIT */
/*
 * read/check/unused_bytes: bytes of blocks that no chunk refers to. See <dwarfs/image.h>.
 *
 * Chunks may overlap, as equal parts of files share bytes: their ranges are sorted, and only
 * bytes beyond the end of earlier ranges count.
 */
#include <stdlib.h>

#include <dwarfs/salvage.h>

#include "read/image/image.h"

struct used_range {
	uint32_t block, offset;
	uint64_t end;
};

static int compare_used_ranges(const void *left, const void *right)
{
	const struct used_range *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int list_ranges(const struct view *view, struct used_range *ranges,
		       size_t *count_out, dwarfs_error **err)
{
	size_t count = 0;

	for (uint64_t i = 0; i < view->chunks.count; i++) {
		struct file_chunk chunk;
		int ret = dw_view_chunk(view, i, &chunk, err);

		if (ret < 0)
			return ret;
		if (!chunk.is_hole)
			ranges[count++] =
				(struct used_range){ chunk.block, chunk.offset,
						     chunk.offset + chunk.bytes };
	}
	*count_out = count;
	return 0;
}

/* The ranges, sorted by block and offset. */
static int sort_ranges(const struct view *view, struct used_range **ranges_out,
		       size_t *count_out, dwarfs_error **err)
{
	auto_free struct used_range *ranges = NULL;
	int ret;

	if (view->chunks.count > SIZE_MAX / sizeof(*ranges))
		return dw_fail_nomem(err);
	if (!(ranges = dw_calloc((size_t)view->chunks.count, sizeof(*ranges))))
		return dw_fail_nomem(err);
	if ((ret = list_ranges(view, ranges, count_out, err)) < 0)
		return ret;
	if (*count_out > 0)
		qsort(ranges, *count_out, sizeof(*ranges), compare_used_ranges);
	*ranges_out = dw_steal(ranges);
	return 0;
}

/* The size of a block, or 0 if it is not known: its codec is not built in, or the block is
 * damaged or lost. */
static int get_bytes(const dwarfs_image *image, uint32_t block, uint64_t *bytes_out,
		     dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret;

	*bytes_out = 0;
	if (dwarfs_image_block_is_lost(image, block))
		return 0;
	ret = dwarfs_image_section(image, image->blocks[block],
				   DWARFS_SECTION_FIELD_BYTES, bytes_out, &why);
	if (ret == DWARFS_ERR_UNSUPPORTED || ret == DWARFS_ERR_CORRUPT) {
		*bytes_out = 0;
		return 0;
	}
	return ret < 0 ? dw_error_copy(err, ret, why) : 0;
}

/* Bytes of a block below a size that its ranges, from *at on, cover. */
static uint64_t count_used(const struct used_range *ranges, size_t count, size_t *at,
			   uint32_t block, uint64_t size)
{
	uint64_t used = 0, done = 0;

	for (; *at < count && ranges[*at].block == block; ++*at) {
		const struct used_range *range = &ranges[*at];
		uint64_t end = range->end < size ? range->end : size;
		uint64_t from = range->offset > done ? range->offset : done;

		if (end <= from)
			continue;
		used += end - from;
		done = end;
	}
	return used;
}

int dwarfs_image_unused_bytes(const dwarfs_image *image, uint64_t *unused_out,
			      uint32_t count, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || (!unused_out && count > 0))
		return dw_fail_null(err, "image and unused_out");

	auto_free struct used_range *ranges = NULL;
	size_t range_count = 0, at = 0;
	int ret;

	if (count != image->block_count)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " numbers for %" PRIu32 " blocks", count,
			       image->block_count);
	if ((ret = sort_ranges(image->view, &ranges, &range_count, err)) < 0)
		return ret;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t bytes;

		if ((ret = get_bytes(image, i, &bytes, err)) < 0)
			return ret;
		unused_out[i] = bytes - count_used(ranges, range_count, &at, i, bytes);
	}
	return 0;
}
